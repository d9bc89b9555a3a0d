"""A tour of chainrule from Python, to be read first: `pytest tests/test_tiny.py`."""

import pytest

import chainrule as cr


def test_tour():
    # A text becomes a graph, and the graph gives the value and every derivative.
    y = cr.parse("y = (x + w)*(w + 1)")
    assert y.inputs == ["x", "w"]
    assert y.value_and_grad({"x": 2, "w": 1}) == (6.0, {"x": 2.0, "w": 5.0})

    # The same on Tensors, as PyTorch does it: run, backward, and look at what was recorded.
    run = y.run({"x": 2, "w": 1})
    run.output.backward()
    assert run["w"].grad.item() == 5
    assert run.output.grad_fn.name() == "MulBackward0"

    # Tensors need no text: ordinary Python records itself, and a gradient can be differentiated again.
    x = cr.tensor([1.0, 2.0], requires_grad=True)
    (slope,) = cr.grad(cr.sum(x**3), x, create_graph=True)
    (curvature,) = cr.grad(cr.sum(slope), x)
    assert slope.detach().numpy().tolist() == [3, 12]
    assert curvature.numpy().tolist() == [6, 12]

    # What a person got wrong is an error with its place in the text.
    with pytest.raises(cr.ChainruleError, match="1/2x can be read in two ways"):
        cr.parse("y = 1/2x")
