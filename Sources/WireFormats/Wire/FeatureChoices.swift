package import Inference
package import JSON

/// The choices of clients for an input: whether to omit it, and its shape. Written in `/v1/models/{name}`, and as
/// parameters in `/v2`.
package enum FeatureChoices {
    /// True if there is a choice.
    package static func exist(for feature: FeatureDescription) -> Bool {
        feature.isOptional || feature.shapeLimits != nil
    }

    /// Writes
    /// `"optional": true, "default": 0.5, "shapes": { "ranges": [[1, 1], [4, null]], "default": [1, 6], "used": [1, 6] }`
    /// as members of the open object. A range without an upper bound ends with `null`; `used` is present if predictions
    /// have only this shape.
    package static func write(_ feature: FeatureDescription, to writer: inout JSONWriter) {
        if feature.isOptional { writer.member("optional", true) }
        if let value = feature.defaultValue {
            writer.member("default", value)
        }
        guard let limits = feature.shapeLimits else { return }
        writer.key("shapes")
        writer.object { writer in
            switch limits {
            case .shapes(let shapes):
                writer.key("choices")
                writer.array { writer in for shape in shapes { write(shape, to: &writer) } }
            case .ranges(let ranges):
                writer.key("ranges")
                writer.array { writer in
                    for range in ranges {
                        writer.array { writer in
                            writer.integer(range.lower)
                            if let upper = range.upper { writer.integer(upper) } else { writer.null() }
                        }
                    }
                }
            }
            if let shape = feature.defaultShape {
                writer.key("default")
                write(shape.dimensions, to: &writer)
            }
            if feature.isFixedByUs {
                writer.key("used")
                write(feature.shape.dimensions, to: &writer)
            }
        }
    }

    private static func write(_ extents: [Int], to writer: inout JSONWriter) {
        writer.array { writer in for extent in extents { writer.integer(extent) } }
    }
}
