import Foundation
import ImagePipeline

/// `tensor [option=value ...] FILE...`: writes the tensors of the pictures, one after the other, to standard output.
enum TensorCommand {
    static func run(_ arguments: [String]) throws {
        let options = Options(arguments)
        let pipeline = try ImagePipeline(spec: options.spec)
        for file in options.files {
            let picture = try Data(contentsOf: URL(fileURLWithPath: file))
            var tensor = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
            _ = try picture.withUnsafeBytes { bytes in
                try tensor.withUnsafeMutableBytes { destination in
                    try pipeline.prepare(bytes, into: destination, options: options.decoding)
                }
            }
            FileHandle.standardOutput.write(Data(tensor))
        }
    }
}
