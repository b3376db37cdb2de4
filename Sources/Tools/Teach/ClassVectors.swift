internal import FileFormats
internal import Inference
internal import ModelFacts
package import SystemSupport

/// Makes the vectors of classes for a model that embeds pictures, from a text encoder's embeddings of their names:
/// `ocelli teach --text-vectors`.
package struct ClassVectors: Sendable {
    package let classes: Int, dimension: Int
    /// The bytes of classes.safetensors.
    private let bytes: [UInt8]

    /// The maximum size of a file of embeddings.
    private static let maximumBytes = 4 << 30

    /// Reads both files. Blocks.
    /// - Parameters:
    ///   - vectors: a NumPy file `[classes, dimension]`, or `[classes, prompts, dimension]`: several prompts of a class
    ///     are normalised, averaged and normalised again.
    ///   - labels: a file of labels, in any format that a bundle may name.
    ///   - scale: the factor of cosines before softmax.
    package init(vectors: String, labels: String, scale: Double) throws(CommandError) {
        let file = try Self.read(vectors)
        let array: NPYFile
        do throws(FormatError) { array = try NPYFile(file) } catch { throw CommandError("\(vectors) \(error.reason)") }
        let shape = array.shape
        guard shape.count == 2 || shape.count == 3, let classes = shape.first, let dimension = shape.last else {
            throw CommandError(
                "\(vectors) has the shape \(shape): expected [classes, dimension] or [classes, prompts, dimension]")
        }
        let names = try Self.labels(labels)
        guard names.count == classes else {
            throw CommandError("\(labels) has \(names.count) labels: \(vectors) has \(classes) classes")
        }
        let numbers = array.floats(in: file)
        var means: [Float] = []
        let prompts = numbers.count / (classes * dimension)
        for label in 0..<classes {
            var sum = [Double](repeating: 0, count: dimension)
            for prompt in 0..<prompts {
                let start = (label * prompts + prompt) * dimension
                guard let unit = Self.unit(numbers[start..<start + dimension].map(Double.init)) else {
                    throw CommandError(
                        "\(vectors) has a vector without a direction, of class \(label) (\(names[label]))")
                }
                for index in sum.indices { sum[index] += unit[index] }
            }
            guard let mean = Self.unit(sum) else {
                throw CommandError("\(vectors) has prompts that cancel each other, of class \(label) (\(names[label]))")
            }
            means += mean.map { Float($0) }
        }
        (self.classes, self.dimension) = (classes, dimension)
        bytes = SafeTensorsFile.bytes(
            [NamedTensor("classes", [classes, dimension], means)],
            metadata: [("labels", names.joined(separator: "\n")), ("scale", "\(scale)")])
    }

    /// Writes classes.safetensors. Blocks.
    package func write(to path: String) throws(CommandError) { try OutputFile.write(bytes, to: path) }

    private static func read(_ path: String) throws(CommandError) -> [UInt8] {
        do throws(CommandError) { return try InputFile.read(path, maximum: maximumBytes) } catch {
            throw CommandError("\(path) \(error)")
        }
    }

    private static func labels(_ path: String) throws(CommandError) -> [String] {
        let bytes = try read(path)
        do throws(FormatError) {
            return try LabelFile.read(bytes, name: path)
        } catch {
            throw CommandError("\(path) \(error.reason)")
        }
    }

    /// The vector scaled to length 1; nil without a direction.
    private static func unit(_ vector: [Double]) -> [Double]? {
        let length = vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
        guard length > 0, length.isFinite else { return nil }
        return vector.map { $0 / length }
    }
}
