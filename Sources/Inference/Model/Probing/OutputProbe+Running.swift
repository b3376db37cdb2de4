internal import SystemSupport

extension OutputProbe {
    /// The maximum number of elements of a tensor, and of classes.
    private static let maximumElements = 1 << 26, maximumClasses = 1_000_000
    private static let runs = 4

    /// Runs a model file on zeros and on noise of several ranges. Open axes get the extents of a picture's tensor.
    /// - Parameters:
    ///   - height: the height of a picture if the file leaves it open.
    ///   - width: the width of a picture if the file leaves it open.
    /// - Throws: an engine error with the reason it cannot be run.
    package static func run(path: String, height: Int, width: Int) async throws(InferenceError) -> OutputProbe {
        let prepared: Result<Prepared, EngineError> = await LoaderThread.run {
            Result { () throws(EngineError) in try Prepared(path: path, height: height, width: width) }
        }
        do throws(EngineError) {
            let model = try prepared.get()
            var probe = OutputProbe()
            probe.outputs = model.compiled.outputs.map { _ in nil }
            var noise = Noise()
            for round in 0..<runs {
                for (index, tensor) in model.tensors.enumerated() {
                    noise.fill(tensor, round: round)
                    try model.request.setInput(index, to: tensor)
                }
                try await model.request.run()
                for place in model.compiled.outputs.indices { try probe.add(place, of: model) }
            }
            // JSON cannot represent NaN and infinities.
            for place in probe.outputs.indices where probe.outputs[place]?.areNumbers == false {
                probe.outputs[place] = Values()
                probe.outputs[place]?.areNumbers = false
            }
            return probe
        } catch {
            throw .engine(error)
        }
    }

    private mutating func add(_ place: Int, of model: Prepared) throws(EngineError) {
        let type = model.compiled.outputs[place].elementType
        let (shape, numbers) = try model.request.withOutput(place) { shape, raw -> (Shape, [Double]) in
            var numbers: [Double] = []
            guard raw.count <= Self.maximumClasses * 8 else { return (shape, []) }
            ElementConversion.read(raw, as: type) { _, value in numbers.append(value) }
            return (shape, numbers)
        }
        // Only outputs with one number for each class, whose other axes all have extent 1.
        guard shape.dimensions.filter({ $0 != 1 }).count == 1, numbers.count > 1, numbers.count <= Self.maximumClasses
        else { return }
        var values = outputs[place] ?? Values()
        let sum = numbers.reduce(0, +)
        let (minimum, greatest) = (numbers.min() ?? 0, numbers.max() ?? 0)
        let isFirst = outputs[place] == nil
        values.count = numbers.count
        values.areNumbers = values.areNumbers && sum.isFinite && minimum.isFinite && greatest.isFinite
        values.minimum = isFirst ? minimum : min(values.minimum, minimum)
        values.greatest = isFirst ? greatest : max(values.greatest, greatest)
        values.minimumSum = isFirst ? sum : min(values.minimumSum, sum)
        values.greatestSum = isFirst ? sum : max(values.greatestSum, sum)
        outputs[place] = values
    }

    /// A compiled model with a request and its input tensors.
    private struct Prepared: Sendable {
        let compiled: any CompiledModel
        let request: any InferRequest
        let tensors: [any EngineTensor]

        init(path: String, height: Int, width: Int) throws(EngineError) {
            let file = try DefaultEngine.shared().read(ModelSource(path: path))
            var options = CompileOptions()
            options.hint = .latency
            for (index, port) in file.inputs.enumerated() where port.shape.dimensions.contains(Shape.dynamic) {
                options.inputShapes[index] = OutputProbe.fixed(port.shape, height: height, width: width)
            }
            compiled = try file.compile(options)
            request = try compiled.makeRequest()
            var tensors: [any EngineTensor] = []
            for (index, port) in file.inputs.enumerated() {
                let shape = options.inputShapes[index] ?? port.shape
                guard let count = shape.elementCount, count <= OutputProbe.maximumElements else {
                    throw EngineError(
                        kind: .failure, operation: "run the model on noise",
                        detail: "its input \"\(port.name)\" of shape \(shape) is too large for that")
                }
                tensors.append(try compiled.makeTensor(elementType: port.elementType, shape: shape))
            }
            self.tensors = tensors
        }
    }

    /// The shape with all axes fixed: a batch of one, three channels, the picture's sides.
    static func fixed(_ shape: Shape, height: Int, width: Int) -> Shape {
        var extents = shape.dimensions
        let isOpen = extents.map { $0 == Shape.dynamic }
        guard extents.count == 4 else { return Shape(extents.map { $0 == Shape.dynamic ? 1 : $0 }) }
        let isLast = [1, 3].contains(extents[3]) && ![1, 3].contains(extents[1])
        let usual = isLast ? [1, height, width, 3] : [1, 3, height, width]
        for axis in 0..<4 where isOpen[axis] { extents[axis] = usual[axis] }
        return Shape(extents)
    }

    /// A generator of the same numbers in each run, so that a draft is reproducible.
    private struct Noise {
        private var random = SplitMix64(seed: 2_026)

        /// The next number, from 0 to 1.
        private mutating func next() -> Double { Double(random.next() >> 11) * 0x1p-53 }

        /// Fills a tensor: zeros in the first round, then pixels as the usual normalizations produce them. Other types,
        /// such as numbers of words, stay 0.
        mutating func fill(_ tensor: any EngineTensor, round: Int) {
            tensor.zero()
            let range: (minimum: Double, span: Double)
            switch tensor.elementType {
            case .float16, .bfloat16, .float32, .float64: range = [(0, 0), (0, 1), (-2, 4), (0, 255)][round]
            case .uint8: range = round == 0 ? (0, 0) : (0, 255)
            case .int8: range = round == 0 ? (0, 0) : (-128, 255)
            default: return
            }
            guard range.span > 0, tensor.elementType.byteCount > 0 else { return }
            for index in 0..<tensor.bytes.count / tensor.elementType.byteCount {
                ElementConversion.write(
                    range.minimum + next() * range.span, at: index, as: tensor.elementType, to: tensor.bytes)
            }
        }
    }
}
