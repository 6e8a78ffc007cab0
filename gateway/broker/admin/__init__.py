"""Administration: queries and changes by tools, one module for each subject."""
