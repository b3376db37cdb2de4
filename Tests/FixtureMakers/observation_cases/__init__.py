"""Models with known outputs of every kind that docs/model-json.md describes, and what they mean by numpy: for compare-observations."""
