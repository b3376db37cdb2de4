// Core ML files to a description and a graph, as pure functions from bytes to values. Knows no engine and no file system.
