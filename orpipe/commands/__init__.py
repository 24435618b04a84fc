"""Commands of the command line that live in files of their own; orpipe.cli registers them."""
