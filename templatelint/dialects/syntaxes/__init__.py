"""The dialects, each with its marks, a reader and a writer; dialects of one kind of syntax share a module."""
