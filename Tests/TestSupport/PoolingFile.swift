public import Foundation

/// A model file in the format of an engine: a row of poolings over wide windows, and the mean of each of three
/// channels.
///
/// The answer to a picture of one color is that color. The amount of arithmetic can be selected, and an engine can be
/// stopped between two poolings.
public struct PoolingFile: Sendable {
    /// The file's name, with the extension of its format.
    public let name: String
    /// The file's content.
    public let bytes: Data
    /// The shape of its input, `image`. The output is `mean`.
    public let shape: [Int]

    /// A file for an engine: TensorFlow Lite for LiteRT, otherwise ONNX.
    /// - Parameters:
    ///   - window: the side of the windows; by default, a pooling over a picture of the default side takes a twentieth
    ///     of a second or more on one processor.
    ///   - isFlat: whether the means have no axes for rows and columns.
    public init(layers: Int, side: Int = 256, window: Int? = nil, isFlat: Bool = false, engine: String) {
        if engine == "litert" {
            name = "model.tflite"
            bytes = TFLiteModel.slow(layers: layers, side: side, window: window ?? 15).bytes
            shape = [1, side, side, 3]
        } else {
            name = "model.onnx"
            bytes = ONNXFile.slow(layers: layers, side: side, window: window ?? 63, isFlat: isFlat).bytes
            shape = [1, 3, side, side]
        }
    }
}
