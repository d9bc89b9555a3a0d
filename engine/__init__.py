"""chainrule."""
