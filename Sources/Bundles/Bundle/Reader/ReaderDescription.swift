package import EngineAPI
internal import FileFormats
internal import ImagePipeline
internal import ModelFacts
package import Observations

/// The networks of a reader of text, and the numbers by which it prepares pictures and finds regions: those of
/// model.json, else those of the files next to the networks, else RapidOCR's.
package struct ReaderDescription: Sendable {
    package var find: Network
    package var turn: Network?
    package var read: Network
    /// The numbers by which regions are made from the detector's map.
    package var regions = TextRegionDecoding()
    /// The length of a side of the detector's tensor: of the shorter side, which is enlarged to it, or, with
    /// ``limitsLongerSide``, of the longer one, which is reduced to it.
    package var side = 736
    package var limitsLongerSide = false
    /// The maximum length of the longer side of the picture that regions are cut out of; a longer one is scaled down.
    package var maximumSide = 2_000
    /// The settings of all networks.
    package var runtime = ModelRuntime()

    /// One network, and the form of its pictures.
    package struct Network: Sendable {
        /// The path of the model file in the bundle's folder.
        package var file: String
        /// The mean and standard deviation of each channel of its tensor: blue, green, red. Of pixels from 0 to 1.
        package var mean = [0.5, 0.5, 0.5], std = [0.5, 0.5, 0.5]
        /// The size of its tensor; nil takes it from the file, or the usual one.
        package var height: Int?, width: Int?
        /// The dictionary of the recognizer, and the place that it was read from.
        package var dictionary: (texts: [String], source: String)?

        package init(file: String) { self.file = file }
    }

    package init(find: Network, turn: Network? = nil, read: Network) {
        (self.find, self.turn, self.read) = (find, turn, read)
        // Rounding to 16 bits costs PP-OCRv4 one line in fifteen.
        runtime.precision = .float32
    }

    /// The maximum number of pixels of the detector's tensor, and of the picture that regions are cut out of.
    package static let maximumPixels = 4 << 20
    /// The minimum and maximum widths of the recognizer's tensor.
    package static let narrowest = 320, widest = 3_200
    /// The usual height of a line, and the usual width in the classifier of direction.
    private static let usualHeight = 48, usualTurnWidth = 192
    /// The maximum side of the detector's tensor.
    private static let longestSide = 16_384

    package subscript(part: ReaderPart) -> Network? {
        switch part {
        case .find: find
        case .turn: turn
        case .read: read
        }
    }

    /// The parts that it has, in the order of their stages.
    package var parts: [ReaderPart] { ReaderPart.allCases.filter { self[$0] != nil } }

    /// The description of one network as a model.
    /// - Parameters:
    ///   - inputs, outputs: the tensors of its file.
    ///   - problems: receives the reasons why the file is no such network.
    package func manifest(
        of part: ReaderPart, inputs: [TensorPort], outputs: [TensorPort], problems: ProblemList
    ) -> ModelManifest {
        var manifest = ModelManifest()
        guard let network = self[part] else { return manifest }
        manifest.name = part.rawValue
        manifest.file = network.file
        manifest.backend = ModelFormat(path: network.file)
        manifest.runtime = runtime
        guard inputs.count == 1, let port = inputs.first, let output = outputs.first, let sides = Self.sides(port)
        else {
            let found = inputs.map { "\"\($0.name)\" \($0.shape)" }.joined(separator: ", ")
            problems.add(
                "reader.\(part.rawValue)",
                "expected a network with one input [1, 3, height, width], found \(network.file) with \(found)")
            return manifest
        }
        let tensor = ObservationOutput.Tensor(path: "reader.\(part.rawValue)", name: output.name)
        func observe(_ kind: ObservationOutput.Kind) {
            let observation = ObservationOutput(
                path: "reader.\(part.rawValue)", name: output.name, tensors: ["output": [tensor]], kind: kind)
            manifest.observations = [observation]
            manifest.outputs = observation.layers
        }
        var image = image(of: network)
        let height: Int, width: Int
        switch part {
        case .find:
            (height, width) = sides
            image.cropAndScale = .scaleFill
            if height == Shape.dynamic, width == Shape.dynamic { image.openSize = sizeOfPage }
            observe(.regions(regions))
        case .turn:
            height = sides.height > 0 ? sides.height : network.height ?? Self.usualHeight
            width = sides.width > 0 ? sides.width : network.width ?? Self.usualTurnWidth
            // PaddleX's classifier stretches lines; RapidOCR's keeps their shape.
            if network.width == nil {
                image.openSize = Self.sizeOfLine(height: height, widths: width...width)
            } else {
                image.cropAndScale = .scaleFill
            }
            var layer = ModelManifest.Layer(path: "reader.turn", name: output.name, kind: .array, shape: output.shape)
            layer.isAsInFile = true
            layer.labels = Self.directions
            manifest.outputs = [layer]
        case .read:
            height = sides.height > 0 ? sides.height : network.height ?? Self.usualHeight
            width = sides.width
            image.openSize = Self.sizeOfLine(
                height: height, widths: width > 0 ? width...width : Self.narrowest...Self.widest)
            observe(.text(TextDecoding(dictionary: network.dictionary?.texts ?? [])))
        }
        var layer = ModelManifest.Layer(
            path: "reader.\(part.rawValue)", name: port.name, kind: .image(image), elementType: port.elementType,
            shape: Shape([height, width, 3]))
        layer.namePath = "reader.\(part.rawValue)"
        manifest.inputs = [layer]
        return manifest
    }

    /// The labels of the classifier of direction.
    package static let directions = ["0", "180"]

    /// The height and width of a tensor `[batch, 3, height, width]`; nil for another one.
    private static func sides(_ port: TensorPort) -> (height: Int, width: Int)? {
        let extents = port.shape.dimensions
        guard extents.count == 4, [1, Shape.dynamic].contains(extents[0]), [3, Shape.dynamic].contains(extents[1]),
            port.elementType == .float32
        else { return nil }
        return (extents[2], extents[3])
    }

    private func image(of network: Network) -> ModelManifest.ImageLayer {
        let normalization = PixelNormalization(mean: network.mean.reversed(), std: network.std.reversed())
        let linear = normalization.linear
        var image = ModelManifest.ImageLayer(
            channelOrder: .bgr, scale: linear.scale.map { Double($0) }, bias: linear.bias.map { Double($0) })
        image.layout = .nchw
        image.normalization = normalization
        image.resampler = .linear
        image.alignment = .topLeft
        image.cropAndScale = .scaleFit
        // The margin is the mean: the level nearest to a 0 in the tensor.
        image.fillColor = normalization.mean.map { UInt8(min(max(($0 * 255).rounded(), 0), 255)) }
        return image
    }

    private var sizeOfPage: OpenSize {
        var size = OpenSize(
            minimum: ImageSize(width: 32, height: 32),
            maximum: ImageSize(width: Self.longestSide, height: Self.longestSide),
            multiple: ImageSize(width: 32, height: 32))
        size.rule = limitsLongerSide ? .longerSide(side) : .shorterSide(side)
        size.maximumPixels = Self.maximumPixels
        return size
    }

    static func sizeOfLine(height: Int, widths: ClosedRange<Int>, multiple: Int = 1) -> OpenSize {
        var size = OpenSize(
            minimum: ImageSize(width: widths.lowerBound, height: height),
            maximum: ImageSize(width: widths.upperBound, height: height),
            multiple: ImageSize(width: multiple, height: 1))
        size.rule = .line
        return size
    }
}
