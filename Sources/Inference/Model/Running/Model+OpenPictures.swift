internal import ConfinedDecoding
internal import FlowControl
package import ImagePipeline
internal import Synchronization
internal import SystemSupport

/// Predictions on pictures that determine the size of their tensors. The pictures' headers are read before
/// memory is allocated, because the size determines shapes and memory.
extension Model {
    /// A picture that a separate process decodes.
    private struct Opened {
        let position: Int, name: String
        var image: EncodedImage
        let picture: ConfinedPicture
    }

    /// Reads the sizes of an item's pictures, and waits for the memory that they need. For a model with open picture
    /// sizes.
    func sized(
        _ options: PredictionOptions, value: (Int, InputPlan) throws(InferenceError) -> FeatureValue?
    ) async throws(InferenceError) -> SizedItem {
        var item = SizedItem(inputs: plan.inputs), memory = 0, opened: [Opened] = []
        let cost = openCost.withLock { $0 }
        for (position, input) in plan.inputs.enumerated() {
            guard case .image(let pipeline) = input.kind, case .image(let image)? = try value(position, input) else {
                continue
            }
            let name = input.description.name, start = MonotonicInstant.now, info: ImageInfo
            if let format = image.confinedFormat {
                let picture = try await Self.inThread(options, name) { (isCancelled) throws(ImageError) in
                    try pipeline.opened(image, format: format, page: options.page, isCancelled: isCancelled)
                }
                info = picture.info
                memory = Self.sum(memory, picture.memory)
                opened.append(Opened(position: position, name: name, image: image, picture: picture))
                item.decoding &+= MonotonicInstant.now.nanoseconds(since: start)
            } else {
                do throws(ImageError) { info = try pipeline.checked(image) } catch { throw .image(error, input: name) }
                memory = Self.sum(memory, pipeline.demand(of: image).memory)
            }
            item.pictures[position] = .image(image)
            guard pipeline.spec.openSize != nil else { continue }
            if let size = options.size, let reason = pipeline.spec.refusal(of: size, limits: pipeline.limits) {
                throw .invalidInput(name: name, reason: reason)
            }
            let resolved = pipeline.resolved(for: info, options: image.decoding(options))
            item.inputs[position] = input.resolved(resolved)
            item.shapes[position] = input.description.shape.resolved(
                width: resolved.spec.width, height: resolved.spec.height, resolved.spec.layout)
            memory = Self.sum(
                memory, cost.bytes(resolved.spec, sent: plan.drawsOpenPictures ? info.width * info.height : 0))
        }
        if !options.hasRoom { item.room = try await Self.room(memory, options, of: nil) }
        let start = MonotonicInstant.now
        do throws(InferenceError) {
            for var one in opened {
                let picture = one.picture
                one.image.pixels = try await Self.inThread(options, one.name) { (isCancelled) throws(ImageError) in
                    try picture.decode(isCancelled: isCancelled)
                }
                item.pictures[one.position] = .image(one.image)
            }
            if !opened.isEmpty { item.decoding &+= MonotonicInstant.now.nanoseconds(since: start) }
            return item
        } catch {
            item.room?.release()
            throw error
        }
    }

    private static func sum(_ first: Int, _ second: Int) -> Int {
        let (sum, overflow) = first.addingReportingOverflow(second)
        return overflow ? .max : sum
    }

    /// Records the cost of an inference on pictures of open size.
    func learn(_ item: SizedItem, from outputs: any EngineOutputs, inference: UInt64) {
        let pixels = item.specs.reduce(0) { $0 + $1.width * $1.height },
            input = item.specs.reduce(0) { $0 + $1.byteCount }
        let output = plan.outputs.reduce(0) { sum, output in
            // An output that cannot be accessed fails later, when it is read.
            sum + ((try? outputs.withOutput(output.index) { _, raw in raw.count }) ?? 0)
        }
        openCost.withLock { $0.learn(pixels: pixels, input: input, output: output, inference: inference) }
    }

    /// The approximate nanoseconds of the inference on a picture of open size; 0 for a fixed size, because all
    /// inferences then take equally long.
    func inferenceTime(of image: EncodedImage, _ input: InputPlan) -> UInt64 {
        guard let pipeline = input.openPicture, let info = try? pipeline.checked(image) else { return 0 }
        return openCost.withLock { $0.inference(pipeline.spec.resolved(for: info)) }
    }
}

extension Model {
    /// The reason why a request cannot choose a size for its pictures; nil if it can.
    package func refusal(of size: ImageSize) -> String? {
        let sizes = plan.inputs.compactMap { input in
            if case .image(let pipeline) = input.kind, pipeline.spec.openSize?.usual != nil { pipeline } else { nil }
        }
        guard let pipeline = sizes.first else {
            let used = plan.inputs.first { $0.isPicture }?.description
            if let limits = used, limits.isFixedByUs, let choices = limits.choices { return choices }
            return "the model has no picture with several sizes"
        }
        return sizes.lazy.compactMap { $0.spec.refusal(of: size, limits: $0.limits) }.first
            ?? pipeline.spec.refusal(of: size, limits: pipeline.limits)
    }
}

extension ImageTensorSpec {
    /// The reason why a request cannot choose a size; nil if it can.
    fileprivate func refusal(of size: ImageSize, limits: ImageLimits) -> String? {
        guard let openSize, openSize.usual != nil else { return nil }
        let (pixels, overflow) = size.width.multipliedReportingOverflow(by: size.height)
        guard !overflow, pixels <= limits.maxPixels else {
            return "expected at most \(limits.maxPixels) pixels (max_pixels), found \(size.width)x\(size.height)"
        }
        guard openSize.allows(size) else {
            return "expected a size that the file allows, \(openSize.choice), found \(size.width)x\(size.height)"
        }
        return nil
    }
}

extension ImagePipeline {
    /// The memory in bytes of the tensor of a picture of open size, and of the picture that `explain` makes of it; 0
    /// for a fixed size, because the model holds those tensors.
    func openTensorBytes(_ info: ImageInfo, _ options: ImageDecodeOptions) -> Int {
        spec.openSize == nil ? 0 : 2 * spec.resolved(for: info, options: options).byteCount
    }

    /// Reads a picture's header, and checks it against the limits.
    func checked(_ image: EncodedImage) throws(ImageError) -> ImageInfo {
        if let pixels = image.pixels {
            guard let window = image.window else { return pixels.info }
            return ImageInfo(format: pixels.info.format, width: window.width, height: window.height, orientation: 1)
        }
        let frame = try image.frame?.get()
        let info = try image.withUnsafeBytes { (bytes) throws(ImageError) in
            try ImagePipeline.probe(bytes, frame: frame)
        }
        try check(info)
        return info
    }
}
