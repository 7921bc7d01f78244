"""Our part in the files that programs read: what belongs there, put in and taken out again to the byte."""
