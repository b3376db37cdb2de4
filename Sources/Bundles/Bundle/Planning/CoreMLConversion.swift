internal import CoreMLImport
package import EngineAPI
internal import EngineImporters
internal import Engines
internal import ImagePipeline

/// The conversion of a network or program in a Core ML file: the engine's representation, and its description for a
/// bundle. `ocelli quantize` uses it.
package struct CoreMLConversion: Sendable {
    /// The XML and the constants of the representation.
    package let representation: [UInt8], weights: [UInt8]
    package let inputs: [Layer], outputs: [Layer]
    /// A classifier's labels, in the order of its scores.
    package let labels: [String]?
    package let details: String, version: String, author: String, license: String

    /// An input or output.
    package struct Layer: Sendable {
        package let name: String
        package let elementType: ElementType
        /// The shape; [height, width, channels] for a picture.
        package let shape: Shape
        /// The form of its picture; nil for arrays.
        package let picture: Picture?
        /// True if it has a score for each label.
        package let isLabelled: Bool
    }

    /// The form of a picture in a layer of shape [1, channels, height, width].
    package struct Picture: Sendable {
        /// `RGB`, `BGR` or `GRAY`.
        package let format: String
        /// tensor = pixel * scale + bias, with one bias for each channel in RGB order.
        package let scale: Double, bias: [Double]
    }

    /// True if a path has the name of a Core ML file.
    package static func reads(_ path: String) -> Bool { CoreMLFile.isCoreML(path) }

    /// Translates the file. Blocks.
    /// - Throws: if the file is invalid, or contains neither a network nor a program, so that nothing can be
    ///   translated.
    package init(path: String) throws(InferenceError) {
        func problems(_ list: [Problem]) -> InferenceError {
            .invalidBundle(
                name: ModelBundle.servedName(of: path),
                problems: list.map { BundleProblem(path: $0.place, reason: $0.message) })
        }
        do throws(ImportError) {
            let file = try CoreMLFile(path: path)
            let steps = try ModelSteps(file.specification)
            guard steps.steps.count == 1, let only = steps.graphs.first else {
                throw ImportError([
                    Problem(
                        "is a \(file.specification.type.name), which is evaluated as it is: there is nothing to convert. Serve "
                            + "the file; a model.json next to it with \"backend\": \"coreml\" can change its settings")
                ])
            }
            let translated = try TranslatedGraph(only.specification, files: file.weights, takesSequences: true)
            let writer = IRWriter(translated.graph)
            var weights = [UInt8](repeating: 0, count: writer.weightsSize)
            weights.withUnsafeMutableBytes { writer.writeWeights(into: $0) }
            representation = writer.xml()
            self.weights = weights
            let description = file.specification.description
            (details, version) = (description.metadata.shortDescription, description.metadata.version)
            (author, license) = (description.metadata.author, description.metadata.license)
            labels = translated.classifier.map { $0.labels.map(\.description) }
            let model: any ModelFile
            do throws(EngineError) {
                // Read by the engine that will serve it, so that inputs and outputs are those that are served.
                model = try DefaultEngine.shared().read(ModelSource(path: path))
            } catch {
                throw ImportError([Problem(error.message)])
            }
            inputs = model.inputs.map { port in
                let feature = description.inputs.first { $0.name == port.name }
                return Layer(port, feature?.type, scaler: translated.scalers[port.name], isLabelled: false)
            }
            outputs = model.outputs.map { port in
                let feature = description.outputs.first { $0.name == port.name }
                return Layer(port, feature?.type, scaler: nil, isLabelled: port.name == translated.classifier?.result)
            }
        } catch {
            throw problems(error.problems)
        }
    }
}

extension CoreMLConversion.Layer {
    fileprivate init(_ port: TensorPort, _ type: FeatureType?, scaler: ImageScaler?, isLabelled: Bool) {
        name = port.name
        elementType = port.elementType
        self.isLabelled = isLabelled
        guard case .image(let image)? = type else {
            shape = port.shape
            picture = nil
            return
        }
        let channels = image.colorSpace.channels
        shape = [image.height, image.width, channels]
        let format: ChannelOrder = image.colorSpace == .bgr ? .bgr : image.colorSpace == .rgb ? .rgb : .gray
        picture = CoreMLConversion.Picture(
            format: format.rawValue, scale: Double(scaler?.channelScale ?? 1),
            bias: (scaler?.biases(channels == 1 ? .grayscale : .rgb) ?? [Float](repeating: 0, count: channels))
                .map(Double.init))
    }
}
