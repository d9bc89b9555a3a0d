"""Tensors do what PyTorch's do: recording, backward, modes, hooks, changes in place, NumPy; errors say PyTorch's words.

The numbers and names are those of PyTorch 2.13 on the CPU, where no comment says otherwise.
"""

from __future__ import annotations

import copy
import gc
import math
import pickle
import re
import time
import tracemalloc
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from truth import ulps

import chainrule as cr
from chainrule import Tensor

NO_GRAD = "element 0 of tensors does not require grad and does not have a grad_fn"
SECOND_TIME = "Trying to backward through the graph a second time"
LEAF_IN_PLACE = "a leaf Variable that requires grad is being used in an in-place operation."
MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def leaf(data: Any, dtype: Any = None) -> Tensor:
    return cr.tensor(data, requires_grad=True, dtype=dtype)


def gradient(function: Callable[..., Any], data: Any) -> Any:
    """The gradient of the sum of `function` at `data`, as a number or lists."""
    x = leaf(data)
    y = function(x)
    (y.sum() if y.shape else y).backward()
    return x.grad.tolist()


@pytest.fixture(autouse=True)
def _modes_are_left() -> Iterator[None]:
    yield
    enabled = cr.is_grad_enabled()
    cr.set_grad_enabled(True)
    assert enabled


# --- what a tensor is -------------------------------------------------------------------------------------------------


def test_leaves_and_results():
    x, c = leaf(2.0), cr.tensor(3.0)
    y = x * c
    assert (x.is_leaf, x.requires_grad, x.grad_fn, x.grad) == (True, True, None, None)
    assert (c.is_leaf, c.requires_grad) == (True, False)
    assert (y.is_leaf, y.requires_grad, y.item()) == (False, True, 6)


def test_shape_and_size():
    x = cr.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert (x.shape, x.ndim, x.size, len(x), x.T.shape) == ((2, 3), 2, 6, 2, (3, 2))
    assert cr.tensor(1.0).shape == ()
    with pytest.raises(TypeError, match="len"):
        len(cr.tensor(1.0))


def test_creation():
    assert cr.arange(3).tolist() == [0, 1, 2]
    assert cr.arange(1.0, 2.0, 0.5).tolist() == [1, 1.5]
    assert cr.zeros(2, 1).tolist() == [[0], [0]]
    assert cr.ones((2,), requires_grad=True).requires_grad
    assert cr.eye(2).tolist() == [[1, 0], [0, 1]]
    assert cr.linspace(0, 1, 3).tolist() == [0, 0.5, 1]


def test_seed_repeats_random_numbers():
    drawn = []
    for _ in range(2):
        cr.manual_seed(7)
        drawn.append(cr.rand(3).tolist() + cr.randn(3).tolist())
    assert drawn[0] == drawn[1]
    assert cr.rand(6).tolist() != drawn[0]


def test_tensor_copies_its_data():
    data = np.array([1.0, 2.0])
    x = cr.tensor(data)
    data[0] = 9
    assert x.tolist() == [1, 2]
    assert cr.tensor([cr.tensor(1.0), 2.0]).tolist() == [1, 2]


@pytest.mark.parametrize("data", ["text", [[1.0], [1.0, 2.0]], [1j], None])
def test_data_must_be_numbers(data):
    with pytest.raises(RuntimeError, match="must be numbers"):
        cr.tensor(data)
    with pytest.raises(RuntimeError, match="'float33' is no type of numbers"):
        cr.tensor([1.0], dtype="float33")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (28.0, "tensor(28.)"),
        (0.5, "tensor(0.5000)"),
        (1e-7, "tensor(1.0000e-07)"),
        (1e10, "tensor(1.0000e+10)"),
        (math.nan, "tensor(nan)"),
        (3, "tensor(3)"),
        (True, "tensor(True)"),
        ([], "tensor([])"),
        ([1.0, 2.5], "tensor([1.0000, 2.5000])"),
        ([True, False], "tensor([ True, False])"),
        ([1, -10], "tensor([  1, -10])"),
        ([1.0, -2.0], "tensor([ 1., -2.])"),
        ([1.0, 10.0], "tensor([ 1., 10.])"),
        ([-1.0, 2.5], "tensor([-1.0000,  2.5000])"),
        ([0.1, 100.25], "tensor([1.0000e-01, 1.0025e+02])"),
        ([math.inf, 1.5], "tensor([   inf, 1.5000])"),
        ([[1.0, 2.0], [3.0, 4.0]], "tensor([[1., 2.],\n        [3., 4.]])"),
        ([[[1.0]], [[2.0]]], "tensor([[[1.]],\n\n        [[2.]]])"),
    ],
)
def test_repr(data, text):
    assert repr(cr.tensor(data)) == text


def test_repr_tells_how_it_came_to_be():
    x = leaf([1.0, 2.0])
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(2 * cr.dot(x, x)) == "tensor(10., grad_fn=<MulBackward0>)"
    assert repr(cr.tensor(1.0, dtype=np.float32)) == "tensor(1., dtype=float32)"


def test_format_of_a_number():
    assert f"{cr.tensor(2.0):.3f}" == "2.000"


def test_iteration_and_indexing():
    assert gradient(lambda x: sum(v * v for v in x), [1.0, 2.0]) == [2, 4]
    assert gradient(lambda x: x[0, 1], [[1.0, 2.0], [3.0, 4.0]]) == [[0, 1], [0, 0]]
    assert gradient(lambda x: x[:, 1], [[1.0, 2.0], [3.0, 4.0]]) == [[0, 1], [0, 1]]
    assert gradient(lambda x: x[[0, 0]], [1.0, 2.0]) == [2, 0]
    assert gradient(lambda x: x[x > 1], [1.0, 2.0]) == [0, 1]
    assert gradient(lambda x: x[cr.tensor(1)], [1.0, 2.0]) == [0, 1]


def test_comparisons_give_booleans():
    x = leaf([1.0, 2.0])
    for compared in (x > 1, x == np.array([1.0, 2.0]), x <= x[0]):
        assert compared.dtype == bool
        assert not compared.requires_grad
    assert bool(leaf(2.0) > 1)
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(x > 1)


def test_nothing_equals_none():
    x = cr.tensor([1.0, 2.0], requires_grad=True)
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert (x == "x") is False
    assert None not in [x, x]
    with pytest.raises(TypeError):
        x < None  # noqa: B015


def test_comparison_with_an_array_on_the_left_gives_booleans():
    assert (np.array([0.0, 2.0]) < leaf([1.0, 2.0])).dtype == bool


def test_unary_plus():
    assert gradient(lambda x: +x, 2.0) == 1


def test_reflected_operators():
    assert gradient(lambda x: 3 - x, 2.0) == -1
    assert gradient(lambda x: 8 / x, 2.0) == -2
    assert gradient(lambda x: 2**x, 3.0) == pytest.approx(8 * math.log(2))
    assert gradient(lambda x: np.array([[1.0, 2.0]]) @ x, [3.0, 4.0]) == [1, 2]
    assert gradient(lambda x: 5 + -x, 2.0) == -1


def test_functions_are_methods():
    x = leaf([3.0, 4.0])
    assert (x.sum().item(), x.norm().item(), x.mean().item()) == (7, 5, 3.5)
    assert x.max().item() == 4
    with pytest.raises(AttributeError, match="no attribute 'sine'"):
        x.sine()


def test_axis_by_position():
    assert leaf([[1.0, 2.0], [3.0, 4.0]]).sum(0).tolist() == [4, 6]


MISFITS = [
    (lambda v, m: v + m, "+ does not fit the shapes (3,) and 2×2", "matched from the right"),
    (lambda v, m: m @ v, "@ does not fit the shapes 2×2 and (3,)", "as many columns on the left as rows"),
    (lambda v, m: np.matmul(m, v), "@ does not fit the shapes 2×2 and (3,)", "as many columns on the left as rows"),
    (lambda v, m: np.zeros(2) + v, "+ does not fit the shapes (2,) and (3,)", "matched from the right"),
    (lambda v, m: v[5], "there is no index 5 in shape (3,)", "indices go from 0 to 2"),
    (lambda v, m: m["a"], "only integers, slices", "2×2"),
    (lambda v, m: v.sum(axis=3), "sum: there is no axis 3 in (3,)", "its only axis is 0"),
    (lambda v, m: cr.det(v), "det takes a square matrix", "(3,)"),
    (lambda v, m: cr.inv(m * 0), "inv: the matrix is singular", ""),
    (lambda v, m: cr.solve(m * 0, v[:2]), "solve: the matrix is singular", ""),
    (lambda v, m: cr.stack(v, m), "stack does not fit the shapes", "arrays of one shape"),
    (lambda v, m: cr.ones(2.5), "a shape is made of whole numbers", "2.5"),
]


@pytest.mark.parametrize(("call", "message", "hint"), MISFITS)
def test_what_does_not_fit_is_said_as_on_the_command_line(call, message, hint):
    vector = cr.tensor([1.0, 2.0, 3.0], requires_grad=True)
    matrix = cr.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with pytest.raises(cr.ChainruleError) as caught:
        call(vector, matrix)
    assert message in str(caught.value)
    assert hint in str(caught.value)


def test_wrong_arguments_are_refused_with_the_signature():
    x = cr.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError, match=r"sum\(x, \*, axis=None, keepdims=False\) has no parameter 'dim'"):
        x.sum(dim=0)
    with pytest.raises(TypeError, match=r"sin\(x\) was called with 2 arguments"):
        cr.sin(x, x)
    with pytest.raises(TypeError, match=r"sin\(x\) was called with 0 arguments"):
        cr.sin()


def test_deepcopy_of_a_leaf_is_a_leaf_of_its_own():
    x = leaf(2.0)
    y = copy.deepcopy(x)
    (y * y).backward()
    assert y.grad.item() == 4
    assert x.grad is None


# --- dtypes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, np.array])
def test_an_index_may_be_used_again(kind):
    """Arrays and lists of indices, and masks, are copied when they are recorded."""
    x = cr.tensor([1.0, 1.0, 1.0], requires_grad=True)
    places, chosen, written = kind([0, 1]), kind([True, False, False]), kind([0])
    z = x * 1
    z[written] = 5.0
    y = (x[places] * np.array([2.0, 3.0])).sum() + 10 * x[chosen].sum() + 100 * z.sum()
    places[:], chosen[:], written[:] = [2, 2], [False, True, False], [2]
    y.backward()
    assert x.grad.tolist() == [12.0, 103.0, 100.0]


def test_a_cotangent_may_be_used_again():
    x, g = cr.tensor([1.0, 1.0], requires_grad=True), np.array([1.0, 2.0])
    (x + 0).backward(g)
    (found,) = cr.grad(x + 0, x, g)
    g[:] = 100
    assert x.grad.tolist() == found.tolist() == [1.0, 2.0]


def test_a_gradient_retained_is_that_of_the_tensor_as_it_is_now():
    """PyTorch moves it along when a tensor is changed in place."""
    x = cr.tensor(3.0, requires_grad=True)
    y = x * 1
    y.retain_grad()
    y *= 2
    (y * y).backward()
    assert (y.grad.item(), x.grad.item()) == (12.0, 24.0)


def test_errors_are_pickled():
    with pytest.raises(cr.ChainruleError) as caught:
        cr.parse("y = sine(x)")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.kind, again.place) == (str(caught.value), "name", caught.value.place)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: cr.hessian(lambda v: 3.0, x),
        lambda x: cr.value_and_grad(lambda v: 3.0)(x),
        lambda x: cr.gradcheck(lambda v: v * v, 2.0),
        lambda x: cr.gradcheck(lambda v: v * v, [np.array([1.0])]),
        lambda x: cr.grad(x.sum(), "x"),
        lambda x: cr.grad(x.sum(), np.ones(2)),
        lambda x: cr.grad(3.0, x),
        lambda x: x.sum().backward(inputs=[1.0]),
    ],
)
def test_what_is_no_tensor_is_refused(call):
    with pytest.raises(cr.ChainruleError, match="a tensor"):
        call(cr.tensor([1.0, 2.0], requires_grad=True))


def test_leaves_are_pickled():
    for leaf in (cr.tensor([1.0, 2.0], requires_grad=True), cr.tensor(3.0), cr.tensor([1.0], dtype="float32")):
        again = pickle.loads(pickle.dumps(leaf))
        assert again.tolist() == leaf.tolist()
        assert (again.dtype, again.requires_grad) == (leaf.dtype, leaf.requires_grad)
    with pytest.raises(cr.ChainruleError, match=r"detach\(\)"):
        pickle.dumps(cr.tensor(2.0, requires_grad=True) * 2)


def test_a_choice_among_numbers_has_their_common_type():
    half = cr.tensor(0.5, requires_grad=True)
    for chosen in (
        cr.max(half, 3),
        cr.min(half, 0),
        cr.max(half, 1, 2),
        cr.clip(half, 1, 2),
        cr.where(half < 0, half, 1),
    ):
        assert chosen.dtype == np.float64
    assert cr.max(cr.tensor(2), 3).dtype == np.int64


def test_dtypes_of_results():
    single = leaf([1.0, 2.0], np.float32)
    assert cr.tensor(1.0).dtype == np.float64
    assert cr.tensor([1, 2]).dtype == np.int64
    assert (single * 2.5).dtype == np.float32
    assert cr.sin(single).dtype == np.float32
    assert (single * leaf([1.0, 2.0])).dtype == np.float64
    assert (cr.tensor([1, 2]) / 2).dtype == np.float64
    assert cr.tensor([1, 2]).sum().dtype == np.int64


def test_gradient_has_the_dtype_of_its_tensor():
    single, double = leaf([1.0, 2.0], np.float32), leaf([3.0, 4.0])
    (single * double).sum().backward()
    assert (single.grad.dtype, double.grad.dtype) == (np.float32, np.float64)
    assert single.grad.tolist() == [3, 4]


@pytest.mark.parametrize(
    "ask",
    [lambda: cr.tensor(1, requires_grad=True), lambda: cr.tensor([1, 2]).requires_grad_(),
     lambda: cr.arange(4, requires_grad=True), lambda: cr.tensor(True, requires_grad=True)],
)  # fmt: skip
def test_integers_require_no_gradient(ask):
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        ask()


# --- the recorded graph -----------------------------------------------------------------------------------------------


def test_graph_down_to_the_leaves():
    x, w = leaf(2.0), leaf(1.0)
    y = (x + w) * (w + 1)
    assert y.grad_fn.name() == "MulBackward0"
    (add, place), (add_one, _) = y.grad_fn.next_functions
    assert (add.name(), place, add_one.name()) == ("AddBackward0", 0, "AddBackward0")
    (to_x, _), (to_w, _) = add.next_functions
    assert (to_x.name(), to_x.variable, to_x.next_functions) == ("AccumulateGrad", x, ())
    assert to_w is add_one.next_functions[0][0]
    assert add_one.next_functions[1] == (None, 0)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: x - 1, "SubBackward0"), (lambda x: 1 - x, "RsubBackward1"), (lambda x: -x, "NegBackward0"),
        (lambda x: x**2, "PowBackward0"), (lambda x: x**x, "PowBackward1"), (lambda x: 2**x, "PowBackward2"),
        (lambda x: x @ x, "DotBackward0"), (lambda x: np.eye(2) @ x, "MvBackward0"), (cr.sum, "SumBackward0"),
        (lambda x: cr.sum(x, axis=0), "SumBackward1"), (lambda x: x[0], "SelectBackward0"),
        (lambda x: x[:1], "SliceBackward0"), (lambda x: x[[0]], "IndexBackward0"), (cr.log1p, "Log1PBackward0"),
        (lambda x: cr.where(x > 1, x, 0), "WhereBackward0"), (cr.norm, "LinalgVectorNormBackward0"),
    ],
)  # fmt: skip
def test_names_are_pytorchs(function, name):
    assert function(leaf([1.0, 2.0])).grad_fn.name() == name


def test_nothing_requires_a_gradient():
    x = cr.tensor([1.0, 2.0])
    y = cr.sin(x) * 2
    s = y.sum()
    assert all(t.is_leaf and t.grad_fn is None and not t.requires_grad for t in (x, y, s))
    with pytest.raises(RuntimeError, match=NO_GRAD):
        s.backward()
    with pytest.raises(RuntimeError, match=NO_GRAD):
        cr.grad(s, leaf(1.0))


def test_requires_grad_is_set_on_leaves_only():
    x = cr.tensor(2.0)
    assert x.requires_grad_() is x
    y = x * x
    with pytest.raises(RuntimeError, match=r"you can only change requires_grad flags of leaf variables\..*detach"):
        y.requires_grad = False
    y.backward()
    assert x.grad.item() == 4
    x.requires_grad = False
    assert not (x * x).requires_grad


def test_numpy_and_float_do_not_drop_the_gradient():
    x = leaf(0.5)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad\..*detach"):
        x.numpy()
    for take in (math.sin, float, int):
        with pytest.raises(RuntimeError, match=r"np\.sin or cr\.sin.*item\(\)"):
            take(x)
    assert x.detach().numpy() == 0.5
    assert (x.item(), float(x.detach()), math.sin(cr.tensor(0.0))) == (0.5, 0.5, 0)


# --- backward and grad ------------------------------------------------------------------------------------------------


def test_backward_of_more_than_a_scalar():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * x).backward()
    (x * x).backward(gradient=[1.0, 10.0])
    assert x.grad.tolist() == [2, 40]
    for wrong in ([1.0, 2.0, 3.0], 1.0, cr.tensor([[1.0, 1.0]])):
        with pytest.raises(RuntimeError, match="Mismatch in shape"):
            (x * x).backward(wrong)


@pytest.mark.parametrize("data", [[3.0], [[3.0]]])
def test_one_element_is_scalar_enough(data):
    x = leaf(data)
    (x * x).backward()
    assert x.grad.tolist() == (np.array(data) * 2).tolist()


def test_second_backward():
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match=f"{SECOND_TIME}.*retain_graph=True"):
        y.backward()


def test_second_backward_through_a_shared_part():
    x = leaf(2.0)
    a = x * x
    first, second = a * 3, a * 5
    first.backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        second.backward()


def test_retained_graph():
    x = leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8


def test_graph_that_saved_nothing_runs_twice():
    x = leaf(1.0)
    y = x + 1
    y.backward()
    y.backward()
    assert x.grad.item() == 2


def test_gradients_accumulate_until_cleared():
    x = leaf([0.0, 1.0, 2.0, 3.0])
    x.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]
    (x * x).sum().backward()
    assert x.grad.tolist() == [1, 3, 5, 7]
    x.grad.zero_()
    x.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == [0, 2, 4, 6]


def test_grad_is_a_plain_tensor():
    x, w = leaf([1.0, 2.0]), leaf([1.0, 1.0])
    (x + w).sum().backward()
    assert (x.grad.requires_grad, x.grad.is_leaf) == (False, True)
    x.grad.mul_(5)  # the two gradients share nothing
    assert w.grad.tolist() == [1, 1]


def test_grad_accumulates_in_place():
    x = leaf(2.0)
    (x * x).backward()
    before = x.grad
    (x * x).backward()
    assert before is x.grad
    assert before.item() == 8


def test_given_gradient_is_not_changed():
    x, start = leaf([1.0, 2.0]), cr.tensor([1.0, 1.0])
    (x + 0).backward(start)
    x.grad.zero_()
    assert start.tolist() == [1, 1]


def test_grad_may_be_assigned():
    x = leaf([1.0, 2.0])
    x.grad = cr.tensor([5.0, 5.0])
    (x * x).sum().backward()
    assert x.grad.tolist() == [7, 9]
    with pytest.raises(RuntimeError, match="gradient of shape"):
        x.grad = cr.tensor(1.0)


def test_grad_is_a_tensor_or_none():
    x = leaf(1.0)
    with pytest.raises((TypeError, RuntimeError), match="Tensor"):
        x.grad = 3.0


def test_grad_of_a_result_warns():
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.warns(UserWarning, match=r"not a leaf.*retain_grad\(\)"):
        assert y.grad is None


def test_retain_grad():
    x = leaf(2.0)
    y = x * x
    assert not y.retains_grad
    y.retain_grad()
    x.retain_grad()  # of a leaf: nothing to do
    assert (y.retains_grad, x.retains_grad) == (True, False)
    (y * 3).backward()
    assert (y.grad.item(), x.grad.item()) == (3, 12)
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        cr.tensor(1.0).retain_grad()


def test_grad_returns_and_stores_nothing():
    x, w = leaf(2.0), leaf(3.0)
    a = x * w
    found = cr.grad(a * a, [x, a])
    assert [g.item() for g in found] == [36, 12]
    assert x.grad is None
    assert w.grad is None
    assert cr.grad(x, x)[0].item() == 1


def test_grad_of_several_outputs():
    x = leaf([1.0, 2.0])
    assert cr.grad([x * x, x.sum()], x, grad_outputs=[cr.tensor([1.0, 10.0]), None])[0].tolist() == [3, 41]
    cr.backward([x.sum(), (x * x).sum()])
    assert x.grad.tolist() == [3, 5]
    with pytest.raises(RuntimeError, match="2 tensors and 1 gradients"):
        cr.backward([x.sum(), x.sum()], [cr.tensor(1.0)])


@pytest.mark.parametrize("given", [10.0, [10.0], cr.tensor(10.0), [cr.tensor(10.0)]])
def test_grad_outputs_of_a_scalar(given):
    x = leaf(3.0)
    assert cr.grad(x * x, x, grad_outputs=given)[0].item() == 60


def test_unused_input():
    x, w = leaf(2.0), leaf([3.0, 4.0])
    with pytest.raises(RuntimeError, match=r"(index|input) 1\b.*allow_unused=True"):
        cr.grad(x * x, [x, w])
    assert cr.grad(x * x, [x, w], allow_unused=True)[1] is None
    assert cr.grad(x * x, [x, w], materialize_grads=True)[1].tolist() == [0, 0]
    with pytest.raises(
        RuntimeError, match="Expected allow_unused to be True or not passed when materialize_grads=True"
    ):
        cr.grad(x * x, [x, w], allow_unused=False, materialize_grads=True)
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        cr.grad(x * x, cr.tensor(1.0))


def test_only_inputs_is_ignored():
    x = leaf(2.0)
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated and is ignored"):
        assert cr.grad(x * x, x, only_inputs=False)[0].item() == 4


def test_backward_to_chosen_inputs():
    x, w = leaf(2.0), leaf(3.0)
    (x * w).backward(inputs=[x])
    assert (x.grad.item(), w.grad) == (3, None)
    with pytest.raises(RuntimeError, match="does not require grad"):
        (x * w).backward(inputs=[cr.tensor(1.0)])


def test_backward_to_a_result_stores_its_gradient():
    x = leaf(2.0)
    a = x * 3
    (a * a).backward(inputs=[a])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert a.grad.item() == 12
    assert x.grad is None


def test_higher_derivatives():
    x = leaf(3.0)
    y = x**3
    first = cr.grad(y, x, create_graph=True)[0]
    second = cr.grad(first, x, create_graph=True)[0]
    third = cr.grad(second, x)[0]
    assert (first.item(), second.item(), third.item()) == (27, 18, 6)


def test_without_create_graph_a_gradient_is_no_function():
    x = leaf(3.0)
    first = cr.grad(x**3, x)[0]
    with pytest.raises(RuntimeError, match=NO_GRAD):
        cr.grad(first, x)


def test_third_derivative_of_a_line_follows_the_rules_of_unused_inputs():
    a, x = leaf(2.0), leaf(3.0)
    slope = cr.grad(a * x, x, create_graph=True)[0]  # a itself, in which x does not appear
    with pytest.raises(RuntimeError, match="allow_unused"):
        cr.grad(slope, x, retain_graph=True)
    assert cr.grad(slope, x, materialize_grads=True)[0].item() == 0


def test_backward_with_create_graph():
    x = leaf(3.0)
    (x**3).backward(create_graph=True)
    slope, x.grad = x.grad, None
    slope.backward()
    assert x.grad.item() == 18


def test_zero_gradient_has_a_derivative():
    u, w = leaf(0.0), leaf(2.0)
    by_w = cr.grad(u * cr.sin(w), w, create_graph=True)[0]
    assert by_w.item() == 0
    assert cr.grad(by_w, u)[0].item() == pytest.approx(math.cos(2), rel=1e-15)


# --- detach -----------------------------------------------------------------------------------------------------------


def test_detach_stops_the_gradient():
    x = leaf([1.0, 2.0, 3.0])
    u = (x * x).detach()
    assert (u.is_leaf, u.requires_grad, u.grad_fn) == (True, False, None)
    (u * x).sum().backward()
    assert x.grad.tolist() == u.tolist() == [1, 4, 9]


def test_detach_and_data_share_the_values():
    x = leaf([1.0, 2.0])
    x.detach().mul_(10)
    assert x.tolist() == [10, 20]
    x.data[0] = 3.0
    assert x.tolist() == [3, 20]
    x.data = cr.tensor([5.0, 6.0])
    assert (x.tolist(), x.requires_grad, x.is_leaf) == ([5, 6], True, True)


# --- kinks, ties, accuracy --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (cr.max, [2.0, 2.0, 1.0], [0.5, 0.5, 0]),
        (lambda x: cr.max(x, axis=0), [2.0, 2.0, 1.0], [0.5, 0.5, 0]),  # deliberately; PyTorch takes the first
        (cr.abs, 0.0, 0),
        (cr.relu, 0.0, 0),
        (cr.sqrt, 0.0, math.inf),
        (lambda x: x**0, 0.0, 0),
        (lambda x: x**0.5, 0.0, math.inf),
        (cr.norm, [0.0], [0]),
        (lambda x: cr.atan2(x, x), 0.0, 0),
        (lambda x: cr.maximum(x, 0.0), 0.0, 0.5),
        (lambda x: cr.where(x > 0, cr.sqrt(x), 0), -1.0, 0),  # deliberately; PyTorch gives nan
        (lambda x: cr.hypot(x, x), 0.0, 0),  # deliberately; PyTorch gives nan
    ],
)
def test_kinks_and_ties(function, at, expected):
    assert gradient(function, at) == expected


def test_name_of_max_over_an_axis():
    assert cr.max(leaf([2.0, 1.0]), axis=0).grad_fn.name() == "MaxBackward0"


@pytest.mark.parametrize(
    ("function", "at", "true"),
    [
        (cr.tanh, 20.0, lambda x: mpmath.sech(x) ** 2),
        (cr.sigmoid, -700.0, lambda x: mpmath.exp(x) / (1 + mpmath.exp(x)) ** 2),
        (cr.asin, 1 - 1e-12, lambda x: 1 / mpmath.sqrt(1 - x * x)),
    ],
)
def test_accuracy(function, at, true):
    with mpmath.workdps(50):
        expected = true(mpmath.mpf(at))
    assert ulps(gradient(function, at), expected) <= 4
    assert ulps(gradient(function, [at])[0], expected) <= 4


# --- modes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [cr.no_grad, cr.no_grad(), lambda function: cr.set_grad_enabled(False)(function)])
def test_generators_are_in_the_mode_only_while_they_run(mode):
    def steps(n):
        for i in range(n):
            assert not cr.is_grad_enabled()
            assert (yield i) == (None if i == 0 else "sent")
        return "end"

    running = mode(steps)(2)
    assert next(running) == 0
    assert cr.is_grad_enabled()
    with pytest.raises(AssertionError):
        running.send("not None")
    assert cr.is_grad_enabled()
    running = mode(lambda: (yield))()
    assert next(running) is None
    with pytest.raises(StopIteration):
        running.send(None)
    assert cr.is_grad_enabled()


def test_no_grad_and_enable_grad():
    x = leaf(2.0)
    with cr.no_grad():
        y = x * x
        assert (y.requires_grad, y.is_leaf, cr.is_grad_enabled()) == (False, True, False)
        with cr.enable_grad():
            assert (x * x).requires_grad
        assert not (x * x).requires_grad
        assert leaf(1.0).requires_grad
    assert (x * x).requires_grad


def test_modes_are_decorators():
    x = leaf(2.0)
    for mode in (cr.no_grad(), cr.no_grad, lambda function: cr.set_grad_enabled(False)(function)):
        square = mode(lambda v: v * v)
        assert (x * x).requires_grad
        assert not square(x).requires_grad
        assert (x * x).requires_grad
    with cr.no_grad():
        assert cr.enable_grad()(lambda v: v * v)(x).requires_grad


def test_set_grad_enabled():
    x = leaf(2.0)
    try:
        cr.set_grad_enabled(False)
        assert not (x * x).requires_grad
    finally:
        cr.set_grad_enabled(True)
    assert (x * x).requires_grad
    with cr.set_grad_enabled(False):
        assert not (x * x).requires_grad
    assert (x * x).requires_grad


def test_mode_ends_with_an_exception():
    with pytest.raises(KeyError), cr.no_grad():
        raise KeyError
    assert cr.is_grad_enabled()


def test_anomaly_names_function_and_line():
    x = leaf(-1.0)
    with cr.detect_anomaly():
        y = cr.sqrt(x)  # this line
        with pytest.raises(RuntimeError) as caught:
            y.backward()
    assert "Function 'SqrtBackward0' returned nan values in its 0th output" in str(caught.value)
    assert "test_autograd.py" in str(caught.value)
    assert "y = cr.sqrt(x)  # this line" in str(caught.value)
    y = cr.sqrt(x)
    y.backward()  # outside nothing is looked for
    assert math.isnan(x.grad.item())


def test_anomaly_of_infinity_when_asked():
    x = leaf(0.0)
    with cr.detect_anomaly():
        cr.sqrt(x).backward()
    assert x.grad.item() == math.inf
    with cr.detect_anomaly(infinite=True), pytest.raises(RuntimeError, match="'SqrtBackward0' returned inf values"):
        cr.sqrt(x).backward()


# --- hooks ------------------------------------------------------------------------------------------------------------


def test_hook_sees_the_whole_gradient_once():
    x, seen = leaf(3.0), []
    y = x * x
    y.register_hook(lambda g: seen.append(g.item()))
    (y + 2 * y).backward()
    assert seen == [3]
    assert x.grad.item() == 18


def test_hooks_replace_the_gradient_in_turn():
    x = leaf(3.0)
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: g * 10)
    (x * x).backward()
    assert x.grad.item() == 70
    assert cr.grad(x * x, x)[0].item() == 70


def test_hook_on_a_result_is_removed():
    x = leaf(3.0)
    y = x * x
    y.retain_grad()
    handle = y.register_hook(lambda g: g * 2)
    y.backward(retain_graph=True)
    assert (y.grad.item(), x.grad.item()) == (2, 12)
    handle.remove()
    handle.remove()
    x.grad = None
    y.backward()
    assert x.grad.item() == 6


def test_hook_of_two_that_are_equal_removes_itself():
    x, seen = leaf(1.0), []
    first = x.register_hook(lambda g: seen.append("first"))
    x.register_hook(lambda g: seen.append("second"))
    first.remove()
    x.backward()
    assert seen == ["second"]


def test_hook_of_the_value_before_a_change_in_place():
    x, seen = leaf(3.0), []
    y = x + 1
    y.register_hook(lambda g: seen.append(g.item()))
    y.mul_(2)
    y.backward()
    assert seen == [2]


def test_hook_keeps_create_graph():
    x = leaf(3.0)
    x.register_hook(lambda g: g * 2)
    first = cr.grad(x**3, x, create_graph=True)[0]
    assert first.item() == 54
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * y.detach())
    first = cr.grad(y * y, x, create_graph=True)[0]  # 18y·2x, the 9 a constant
    assert first.item() == 972
    assert cr.grad(first, x)[0].item() == 6156  # 36y + 9·36x·2x: the hook sees this gradient of y, too


def test_post_accumulate_hook():
    x, seen = leaf(2.0), []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    (x * x).backward()
    (x * x).backward()
    assert seen == [4, 8]
    handle.remove()
    (x * x).backward()
    assert seen == [4, 8]
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (x * x).register_post_accumulate_grad_hook(print)


def test_no_hook_without_a_gradient():
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        cr.tensor(1.0).register_hook(print)


# --- changes in place -------------------------------------------------------------------------------------------------


def test_operators_in_place():
    x = leaf([1.0, 2.0, 3.0])
    y = same = x * 2
    y += 1
    y *= 3
    y -= 1
    y /= 2
    y[1] = 7.0
    assert y is same
    assert y.tolist() == [4, 7, 10]
    y.sum().backward()
    assert x.grad.tolist() == [3, 0, 3]


def test_methods_in_place():
    x = leaf(2.0)
    y = x * 3
    assert y.add_(1).mul_(2).sub_(4).div_(2) is y
    y.exp_()
    y.backward()
    assert x.grad.item() == pytest.approx(3 * math.exp(5), rel=1e-15)
    assert cr.tensor([1.0, -2.0]).abs_().tolist() == [1, 2]


@pytest.mark.parametrize("change", [lambda y: y.zero_(), lambda y: y.fill_(3.0), lambda y: y.copy_([3.0, 4.0])])
def test_overwritten_values_pass_no_gradient(change):
    x = leaf([1.0, 2.0])
    y = x * 2
    change(y)
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_copy_passes_the_gradient_to_its_source():
    x, v = leaf([1.0, 2.0]), leaf([5.0, 6.0])
    y = x * 1
    y.copy_(v)
    (y * y).sum().backward()
    assert v.grad.tolist() == [10, 12]
    assert x.grad.tolist() == [0, 0]


def test_items_assigned():
    x = leaf([1.0, 2.0])
    made = cr.zeros(3)
    made[0] = x[1] * 3
    made[1:] = x
    assert not made.is_leaf
    (made * cr.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [10, 103]


def test_item_assigned_from_its_own_tensor():
    def doubled(x):
        y = x * 1
        y[0] = y[1] * 2
        return y

    assert gradient(doubled, [1.0, 2.0]) == [0, 3]


def test_constant_becomes_a_result():
    x, total = leaf(2.0), cr.tensor(1.0)
    total *= x
    total *= x
    assert not total.is_leaf
    total.backward()
    assert x.grad.item() == 4


def test_change_through_a_view_reaches_the_base():
    x = leaf([1.0, 2.0])
    y = x * 1
    y[0].mul_(10)
    y[1] += 5
    assert y.tolist() == [10, 7]
    y.sum().backward()
    assert x.grad.tolist() == [10, 1]


def test_integers_are_not_cut_silently():
    n = cr.tensor([1, 2])
    n += 1
    assert n.tolist() == [2, 3]
    with pytest.raises(RuntimeError, match=r"int64|float64|Long|Double|whole"):
        n += 0.5


def test_shape_does_not_change_in_place():
    with pytest.raises(RuntimeError, match="shape"):
        cr.zeros(2).add_(cr.zeros(3, 2))


@pytest.mark.parametrize(
    "change", [lambda x: x.add_(1), lambda x: x.__setitem__(0, 1.0), lambda x: x.zero_(), lambda x: x.__imul__(2)]
)
def test_leaf_is_not_changed_in_place(change):
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=LEAF_IN_PLACE):
        change(x)
    assert x.tolist() == [1, 2]


def test_leaf_is_changed_under_no_grad():
    x = leaf([1.0, 2.0])
    with cr.no_grad():
        x.add_(1)
        x[0] = 9.0
        x *= 2
    assert (x.tolist(), x.is_leaf, x.requires_grad) == ([18, 6], True, True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [36, 12]


def test_saved_input_was_changed():
    x = leaf([1.0, 2.0])
    y = x * 2
    z = y * y
    y[0] = 5.0  # the change
    with pytest.raises(RuntimeError, match=MODIFIED) as caught:
        z.sum().backward()
    for part in ("(2,)", "CopySlices", "version 1", "version 0", "MulBackward0", "test_autograd.py", "# the change"):
        assert part in str(caught.value)


def test_saved_output_was_changed():
    x = leaf([1.0, 2.0])
    y = x.exp()
    y.add_(1)
    y.add_(1)
    with pytest.raises(RuntimeError, match=rf"{MODIFIED}.*ExpBackward0.*version 2.*version 0"):
        y.sum().backward()


def saved_and_changed(change: Callable[[Tensor, Tensor, Tensor], Any]) -> None:
    """Backward after `change` of a leaf, a constant or a result that a product saved."""
    x, c = leaf([1.0, 2.0]), cr.tensor([3.0, 4.0])
    y = x + 1
    z = (x * x * c * y * y).sum()
    change(x, c, y)
    z.backward()


@pytest.mark.parametrize(
    "change",
    [
        lambda x, c, y: x.detach().zero_(),
        lambda x, c, y: c.add_(1),
        lambda x, c, y: y.mul_(2),
        lambda x, c, y: y.detach().zero_(),
        lambda x, c, y: y.data.zero_(),  # deliberately; PyTorch does not notice and computes with the zeros
        lambda x, c, y: cr.no_grad()(lambda: x.add_(1))(),
    ],
)
def test_every_way_to_change_a_saved_value_is_noticed(change):
    with pytest.raises(RuntimeError, match=MODIFIED):
        saved_and_changed(change)


def test_change_of_what_nobody_saved():
    x = leaf(1.0)
    y = x + 1
    y.add_(1)
    y.backward()
    assert x.grad.item() == 1
    x, c = leaf([1.0, 2.0]), cr.tensor([3.0, 4.0])
    z = x + c
    w = cr.sin(x)  # saves its input, not its output
    c.add_(1)
    w.mul_(2)
    (z + w).sum().backward()
    assert x.grad.tolist() == [1 + 2 * math.cos(1), 1 + 2 * math.cos(2)]


def test_change_before_saving_is_fine():
    x = leaf(2.0)
    y = x * 1
    y.mul_(3)
    z = y * y
    z.backward()
    assert x.grad.item() == 36


# --- NumPy ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (np.sin, [math.cos(1), math.cos(2)]),
        (lambda x: np.sum(x, axis=0), [1, 1]),
        (lambda x: np.sum(x, 0), [1, 1]),
        (lambda x: np.where(x > 1, x * x, 0), [0, 4]),
        (lambda x: np.dot(x, x), [2, 4]),
        (lambda x: np.dot(np.ones(2), x), [1, 1]),
        (lambda x: np.mean(x), [0.5, 0.5]),
        (lambda x: np.linalg.norm(x) * 5**0.5, [1, 2]),
        (lambda x: np.max(x), [0, 1]),
        (lambda x: np.stack([x, 2 * x]), [3, 3]),
        (lambda x: np.power(x, 2), [2, 4]),
        (lambda x: np.maximum(x, 1.5), [0, 1]),
        (lambda x: np.array([3.0, 4.0]) * x, [3, 4]),
        (lambda x: x / np.array([2.0, 4.0]), [0.5, 0.25]),
        (lambda x: np.array([[1.0], [2.0]]) - x, [-2, -2]),
        (lambda x: np.float64(3) * x + np.add(np.ones(2), x), [4, 4]),
        (lambda x: np.transpose(np.ones((2, 3))) @ x, [3, 3]),
        (lambda x: np.zeros_like(x) + x, [1, 1]),
    ],
)
def test_numpy_functions(function, expected):
    assert gradient(function, [1.0, 2.0]) == pytest.approx(expected, rel=1e-15)


def test_numpy_of_matrices():
    assert gradient(np.linalg.det, [[1.0, 2.0], [3.0, 5.0]]) == pytest.approx(np.array([[5, -3], [-2, 1]]), rel=1e-12)
    assert gradient(lambda m: np.sum(m, axis=1) * [1.0, 10.0], [[1.0, 2.0], [3.0, 4.0]]) == [[1, 1], [10, 10]]
    assert np.mean(leaf([[1.0, 2.0], [3.0, 4.0]]), axis=1, keepdims=True).shape == (2, 1)


@pytest.mark.parametrize("ord_", [1, 2, np.inf, "fro"])
def test_norm_of_a_matrix_is_numpys_or_refused(ord_):
    data = [[1.0, 2.0], [3.0, 5.0]]
    try:
        found = np.linalg.norm(leaf(data), ord=ord_)
    except (RuntimeError, NotImplementedError):
        return
    assert found.item() == pytest.approx(np.linalg.norm(data, ord=ord_), rel=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        np.cumprod, np.sort, np.median, np.add.reduce, lambda x: np.hstack([x, x]), lambda x: np.sum(x, dtype=float),
        lambda x: np.einsum("i,i", x, x), lambda x: np.interp(1.5, [1.0, 2.0], x), lambda x: np.exp(x, out=np.ones(2)),
    ],
)  # fmt: skip
def test_numpy_refuses_what_would_lose_the_gradient(function):
    with pytest.raises(RuntimeError, match=r"np\.\S+ is not differentiable here: the gradient would be lost.*detach"):
        function(leaf([1.0, 2.0]))


@pytest.mark.parametrize(
    "function",
    [np.asarray, np.array, lambda x: np.array([x[0], x[1]]), lambda x: np.float64(x[0]), lambda x: np.sum([x, x])],
)
def test_arrays_of_tensors_are_refused(function):
    with pytest.raises(RuntimeError, match=r"requires grad.*detach"):
        function(leaf([1.0, 2.0]))


def test_array_is_not_changed_in_place_by_a_tensor():
    total = np.zeros(2)
    with pytest.raises(RuntimeError, match="the gradient would be lost"):
        total += leaf([1.0, 2.0])
    assert total.tolist() == [0, 0]


def test_numpy_where_no_gradient_is_lost():
    x = leaf([1.0, 2.0])
    assert (np.argmax(x), np.shape(x), np.ndim(x), np.size(x)) == (1, (2,), 1, 2)
    assert np.isnan(x).tolist() == [False, False]
    assert np.any(x > 1)
    assert np.allclose(x, [1.0, 2.0])
    assert np.cumsum(x.detach()).tolist() == [1, 3]
    assert np.asarray(x.detach()).tolist() == [1, 2]


def test_where_with_a_condition_alone():
    assert np.where(leaf([1.0, 2.0]) > 1)[0].tolist() == [1]


# --- size -------------------------------------------------------------------------------------------------------------


def chain(length: int) -> float:
    """The gradient through a chain of so many steps."""
    x = leaf(1.0)
    y = x
    for _ in range(length):
        y = y + 1.0
    y.backward()
    return x.grad.item()


def fan(length: int) -> float:
    """The gradient of a tensor that is used so many times."""
    x = leaf(1.0)
    y: Any = 0.0
    for _ in range(length):
        y = y + x
    y.backward()
    return x.grad.item()


def seconds(function: Callable[[int], float], length: int) -> float:
    gc.collect()
    gc.freeze()  # what other tests left alive is no part of it
    start = time.process_time()
    function(length)
    taken = time.process_time() - start
    gc.unfreeze()
    return taken


@pytest.mark.parametrize(("function", "gradient_"), [(chain, 1), (fan, 100_000)])
def test_hundred_thousand_steps(function, gradient_):
    few = min(seconds(function, 10_000) for _ in range(3))
    many = seconds(function, 100_000)
    assert many < 50 * few  # linear is 10, quadratic 100
    assert function(100_000) == gradient_


def test_long_chain_differentiated_twice():
    x = leaf(1.0)
    y = x * 1.0
    for _ in range(30_000):
        y = y * 1.0
    first = cr.grad(y * y, x, create_graph=True)[0]
    assert cr.grad(first, x)[0].item() == 2


def test_diamonds_are_visited_once():
    a = leaf(1.0)
    b = a + a
    c = b + b
    c.backward()
    assert a.grad.item() == 4
    for _ in range(60):  # as paths these are 2^62
        c = c + c
    assert cr.grad(c, a, retain_graph=True)[0].item() == 2.0**62


def test_backward_releases_what_was_saved():
    x = leaf(np.ones(1000))
    a = cr.sin(x)
    y = (a * a).sum()
    middle = weakref.ref(a._data)  # its values; the tensor itself is gone at once
    del a
    gc.collect()
    assert middle() is not None
    y.backward()
    gc.collect()
    assert middle() is None


def test_dropped_graph_is_released_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        x = leaf(np.ones(1000))
        a = cr.sin(x)
        middle = weakref.ref(a)
        y = (a * a).sum()
        del a, y
        assert middle() is None
    finally:
        gc.enable()


def test_training_does_not_gather_memory():
    x = leaf(np.ones(10_000))

    def step() -> None:
        cr.sum(cr.exp(cr.sin(x) * x)).backward()
        x.grad = None

    step()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            step()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 100_000  # one array has 80,000 bytes
    finally:
        tracemalloc.stop()


# --- the zero-cotangent rule, where nan would show --------------------------------------------------------------------


def chosen(x):
    """sqrt(x) where x > 0, else 0: no gradient flows to the root of a negative number."""
    root = cr.sqrt(x)
    return root, cr.sum(cr.where(x > 0, root, 0))


def test_zero_cotangent_meets_nan():
    x = leaf([4.0, -1.0])
    root, y = chosen(x)
    root.retain_grad()
    y.backward()
    assert x.grad.tolist() == [0.25, 0]
    assert root.grad.tolist() == [1, 0]
    assert cr.grad(chosen(x)[1], x)[0].tolist() == [0.25, 0]
    assert cr.grad(chosen(x)[1], x, create_graph=True)[0].tolist() == [0.25, 0]


def test_hooks_and_accumulation_happen_once_where_nan_shows_at_first():
    x, seen = leaf([4.0, -1.0]), []
    for _ in range(2):
        chosen(x)[1].backward()
    assert x.grad.tolist() == [0.5, 0]
    _, y = chosen(x)
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    y.backward()
    assert seen == [[0.25, 0], [0.75, 0]]
    with pytest.raises(cr.ChainruleError, match="second time"):
        y.backward()


def test_gradient_that_is_not_finite_stays_so():
    x, w = leaf([0.0, 1.0, np.inf]), leaf([1.0, 2.0, 3.0])
    cr.sum(cr.sqrt(x) * w).backward()
    assert x.grad.tolist() == [np.inf, 1, 0]
    assert w.grad.tolist() == [0, 1, np.inf]


def test_backward_changes_no_cotangent_that_is_shared():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 5.0])
    y = x + w
    z = y + x  # one cotangent reaches y, and x twice
    z.backward(g := np.array([1.0, 1.0]))
    assert (x.grad.tolist(), w.grad.tolist(), g.tolist()) == ([2, 2], [1, 1], [1, 1])


@pytest.mark.parametrize("make", [lambda x, one: x * one / x, lambda x, one: one**x, lambda x, one: x % one])
def test_plain_numbers_where_python_would_raise(make):
    """Rules on plain numbers go to NumPy where Python has no nan and inf."""
    x = leaf([0.0, 2.0])
    expected = leaf([0.0, 2.0])
    cr.sum(make(x, 0.0)).backward()
    cr.sum(make(expected, np.zeros(2))).backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected.grad.numpy())


def test_what_backward_did_not_run_keeps_what_it_saved():
    x = leaf([1.0, 2.0])
    h = cr.exp(x)
    assert cr.grad(cr.sum(h * h), h)[0].tolist() == (2 * h).tolist()
    cr.sum(h * 3).backward(inputs=[h])
    cr.sum(h * 3).backward()
    assert x.grad.tolist() == (3 * np.exp([1.0, 2.0])).tolist()


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (lambda g: cr.sum(g), "hook has changed the size of value: a scalar for a gradient of shape (2,)"),
        (lambda g: np.ones((2, 2)), "hook has changed the size of value: 2×2"),
        (lambda g: "two", "a hook returns a gradient or None, not str"),
    ],
)
@pytest.mark.parametrize("on_leaf", [True, False])
def test_hook_that_returns_no_gradient(hook, message, on_leaf):
    x = leaf([1.0, 2.0])
    y = x * x
    (x if on_leaf else y).register_hook(hook)
    with pytest.raises(cr.ChainruleError, match=re.escape(message)):
        cr.sum(y).backward()


def test_array_that_is_used_again_is_copied():
    x, buffer, total = leaf(2.0), np.zeros(2), 0.0
    for i in range(3):
        buffer[:] = i
        total = total + cr.sum(x * buffer)
    total.backward()
    assert x.grad.item() == 6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: x * 1j, "complex numbers are not supported"),
        (lambda x: x + np.array([1j]), "complex numbers are not supported"),
        (lambda x: x + None, "None is no number"),
        (lambda x: x.detach().fill_(None), "None is no number"),
        (lambda x: x * "2", "'2' is no number"),
        (lambda x: cr.tensor([x * 2, x]), "would lose it"),
        (lambda x: leaf(np.ones((100_000, 1))) + np.ones((1, 100_000)), "the limit is 100,000,000"),
    ],
)
def test_what_is_no_operand(make, message):
    with pytest.raises(cr.ChainruleError, match=message):
        make(leaf(3.0))


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.add.at(x, 0, 100),
        lambda x: np.copyto(x, 0.0),
        lambda x: np.put(x, 0, 9.0),
        lambda x: np.place(x, [True, False], 9.0),
        lambda x: np.sin(np.ones(2), out=x),
    ],
)
@pytest.mark.parametrize("requires_grad", [True, False])
def test_numpy_writes_into_no_tensor(write, requires_grad):
    x = cr.tensor([1.0, 2.0], requires_grad=requires_grad)
    with pytest.raises(cr.ChainruleError, match=r"unseen|would be lost"):
        write(x)
    assert x.tolist() == [1, 2]


def test_masks_and_axes_as_methods():
    A = leaf([[1.0, 5.0], [4.0, 2.0]])
    assert ((A > 1) & (A < 5)).tolist() == [[False, False], [True, True]]
    assert A[A.gt(1)].tolist() == [5, 4, 2]
    assert (A.max(0).tolist(), A.min(axis=1).tolist(), A.max(3.5).tolist()) == ([4, 5], [1, 2], [[3.5, 5], [4, 3.5]])
    assert cr.stack([A, A]).shape == (2, 2, 2)
    with pytest.raises(cr.ChainruleError, match=r"np\.svd is not differentiable"):
        np.linalg.svd(A)


def test_none_is_no_value_of_a_program():
    with pytest.raises(cr.ChainruleError, match="x has no value"):
        cr.parse("x*w").value_and_grad({"x": None, "w": 2})


# --- Tensors through a program ----------------------------------------------------------------------------------------


def test_tensors_are_the_leaves_of_a_program():
    x, w = leaf(2.0), cr.tensor(1.0)
    run = cr.parse("y = (x + w)*(w + 1)").run({"x": x, "w": w})
    assert run["x"] is x
    run.output.backward()
    assert (x.grad.item(), w.grad) == (2, None)


def test_program_inside_a_function():
    x = leaf(0.5)
    inner = cr.exp(x)
    out = cr.parse("sum(v*v)").run({"v": inner}).output * 3
    first = cr.grad(out, x, create_graph=True)[0]
    assert first.item() == pytest.approx(6 * math.exp(1), rel=1e-14)
    assert cr.grad(first, x)[0].item() == pytest.approx(12 * math.exp(1), rel=1e-14)
