// What a model file, and what ships beside it, already says: readers from bytes to one description. Opens no file itself.
