"""The innermost loops as vector instructions, behind functions that say what is computed."""
