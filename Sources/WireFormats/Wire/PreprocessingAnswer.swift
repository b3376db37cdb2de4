internal import FoundationEssentials
internal import ImagePipeline
package import Inference
package import JSON

/// Writes the model's input: the answer to `?explain=...`, and the files of `ocelli classify --explain`.
package enum PreprocessingAnswer {
    /// Writes the steps and the tensor's form as members of the open object.
    package static func write(_ result: PreprocessedImage, to writer: inout JSONWriter) throws {
        writer.key("steps")
        writer.array { writer in
            for step in result.report.steps {
                writer.object { writer in
                    writer.member("operation", step.operation)
                    for name in step.parameters.keys.sorted() {
                        guard let value = step.parameters[name], let text = try? JSONBytes.encode(value) else {
                            continue
                        }
                        writer.key(name)
                        writer.raw(text)
                    }
                }
            }
        }
        writer.key("tensor")
        writer.object { writer in
            writer.key("shape")
            writer.array { writer in for side in result.spec.shape { writer.integer(side) } }
            writer.member("dtype", "\(result.spec.element)")
        }
        guard let sizes = result.sizes else { return }
        writer.key("size")
        writer.object { writer in
            func write(_ name: String, _ size: ImageSize?) {
                if let size { writer.member(name, "\(size.width)x\(size.height)") }
            }
            write("used", ImageSize(width: result.spec.width, height: result.spec.height))
            write("default", sizes.usual)
            if let choices = sizes.choices {
                writer.member("choices", choices.map { "\($0.width)x\($0.height)" })
            } else {
                write("minimum", sizes.minimum)
                write("maximum", sizes.maximum)
            }
        }
    }

    /// The whole answer: steps, tensor, and the tensor as PNG and NPY in base64.
    package static func json(_ result: PreprocessedImage, header: (inout JSONWriter) -> Void) throws -> [UInt8] {
        let png = Data(try result.png()).base64EncodedString()
        let npy = Data(try result.npy()).base64EncodedString()
        var writer = JSONWriter(capacity: png.utf8.count + npy.utf8.count + 2048)
        try writer.object { writer in
            header(&writer)
            try write(result, to: &writer)
            for (name, text) in [("png", png), ("npy", npy)] {
                writer.key(name)
                writer.object { writer in
                    writer.member("b64", text)
                }
            }
        }
        return writer.bytes
    }
}
