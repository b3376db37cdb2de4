// Tests of CoreMLImport.
