internal import FlowControl
internal import ImagePipeline
internal import Observations
internal import SystemSupport

/// A request to read the text of a picture: it is decoded once, and all networks run in the request's slot.
struct ReaderRequest: Sendable {
    let reader: Reader
    let request: ObservationRequest
    let options: PredictionOptions
    let slot: Slot

    /// Options that apply to one tensor do not apply here: a reader fills many.
    init(_ reader: Reader, _ request: ObservationRequest, _ options: PredictionOptions, _ slot: Slot) {
        self.reader = reader
        self.request = request
        self.slot = slot
        var options = options
        (options.keeps, options.decoded) = (nil, nil)
        self.options = options
    }

    /// The options for the networks: the memory for their tensors is reserved with the picture's.
    private var ownOptions: PredictionOptions {
        var own = options
        (own.cropAndScale, own.size, own.place, own.hasRoom) = (nil, nil, nil, true)
        own.orientation = .apply
        return own
    }

    /// Finds the regions, reads them, and orders the lines.
    func result(_ image: EncodedImage) async throws(InferenceError) -> ObservationResult {
        let held = try await hold(image)
        let start = MonotonicInstant.now
        let (regions, found, skipped) = try await regions(of: held.page)
        var times = held.times
        times.add(found)
        times.add(
            StageTimes.Stage(
                name: ReaderPart.find.rawValue, nanoseconds: MonotonicInstant.now.nanoseconds(since: start)))
        let lines = try await lines(regions, held.page, &times)
        let ordering = MonotonicInstant.now
        var page = PageText(lines, maximum: request.top, skipped: skipped)
        // A part of a larger picture.
        if let window = options.place?.window {
            page = page.moved { PlanePoint(x: $0.x + Double(window.x), y: $0.y + Double(window.y)) }
        }
        times.postprocess &+= MonotonicInstant.now.nanoseconds(since: ordering)
        var result = ObservationResult(
            content: .text(page), image: held.info, displayed: held.page.geometry.picture, seen: nil, times: times)
        if request.keepsPicture { result.picture = held.picture }
        return result
    }

    // MARK: The picture

    private struct Held: Sendable {
        /// Keeps the memory's reservation.
        let picture: HeldPicture
        let page: ReaderPage
        let info: ImageInfo
        var times: StageTimes
    }

    /// Decodes the picture, no larger than its page needs, and makes the page.
    private func hold(_ image: EncodedImage) async throws(InferenceError) -> Held {
        let description = reader.description
        func geometry(_ size: ImageSize) -> PageGeometry {
            PageGeometry(
                size, maximumSide: description.maximumSide, maximumPixels: ReaderDescription.maximumPixels)
        }
        let spec = reader.find.imageSpec
        let (picture, held) = try await reader.find.hold(
            image, isWhole: request.keepsPicture, drawing: request.keepsPicture,
            longerSide: request.keepsPicture ? nil : description.maximumSide,
            more: { info in
                let page = geometry(ImageSize(width: info.width, height: info.height)).page
                let tensor = spec?.resolved(
                    for: ImageInfo(format: .png, width: page.width, height: page.height, orientation: 1))
                // The page with its rows of 3 bytes; the detector's tensor, its output, and the runs of its regions.
                return 7 * page.width * page.height + 32 * (tensor?.width ?? 0) * (tensor?.height ?? 0)
            }, options: options)
        var times = held
        let start = MonotonicInstant.now
        let info = picture.info
        var size = ImageSize(width: info.width, height: info.height)
        if (5...8).contains(info.orientation) { size = ImageSize(width: info.height, height: info.width) }
        if let window = image.window { size = ImageSize(width: window.width, height: window.height) }
        let limits = reader.find.pictureInput()?.pipeline.limits ?? ImageLimits(), deadline = options.deadline
        let (pixels, window) = (picture.pixels, image.window)
        let measured = geometry(size)
        let made: Result<ReaderPage, ImageError> = await LongDecoding.run(lowPriority: false) { isCancelled in
            Result { () throws(ImageError) in
                try ReaderPage(pixels, window: window, measured, limits: limits) {
                    isCancelled() || deadline.hasPassed
                }
            }
        }
        do throws(ImageError) {
            let page = try made.get()
            times.decode &+= MonotonicInstant.now.nanoseconds(since: start)
            return Held(picture: picture, page: page, info: info, times: times)
        } catch {
            if case .cancelled = error { throw .stopped(at: .decode) }
            throw .image(error, input: nil)
        }
    }

    // MARK: Regions

    /// The regions of a page, the most confident up to the limit, and the number of those beyond it.
    private func regions(
        of page: ReaderPage
    ) async throws(InferenceError) -> (regions: [ReaderPage.Region], times: StageTimes, skipped: Int) {
        let size = page.geometry.page
        let result = try await reader.find.observation(
            of: EncodedImage(page.pixels, time: UInt64(clamping: size.width &* size.height)), request: request,
            options: ownOptions, slot: slot)
        guard case .text(let found) = result.content else { return ([], result.times, 0) }
        var regions = found.lines.compactMap { ReaderPage.Region($0, in: size) }
        let skipped = max(0, regions.count - options.maxLines)
        if skipped > 0 {
            let order = regions.indices.sorted { (regions[$1].score, $0) < (regions[$0].score, $1) }
            regions = order.prefix(options.maxLines).map { regions[$0] }
        }
        return (regions, result.times, skipped)
    }

    // MARK: Directions

    /// The direction of a line, as the classifier sees it.
    private struct Direction: Sendable {
        /// True if it stands on its head, false if not; nil if the classifier is not sure.
        var isTurned: Bool?
        var times = StageTimes()
    }

    /// The number of quarter turns, counterclockwise, that make each region's text upright.
    ///
    /// A line of which the classifier is not sure, such as a number, stands as most of the page's text that runs along
    /// or across the picture as it does.
    private func quarterTurns(
        _ regions: [ReaderPage.Region], _ page: ReaderPage, _ times: inout StageTimes
    ) async throws(InferenceError) -> [Int] {
        guard let turn = reader.turn else { return regions.map { $0.isTall ? 1 : 0 } }
        let start = MonotonicInstant.now
        let found = try await Parallel.results(regions.count, width: turn.instances) { (index) throws(InferenceError) in
            try await direction(regions[index], page, turn)
        }
        let time = MonotonicInstant.now.nanoseconds(since: start)
        for direction in found { times.add(direction.times) }
        times.add(StageTimes.Stage(name: ReaderPart.turn.rawValue, nanoseconds: time))
        turn.limiter.charge(options.claim, nanoseconds: time)
        return zip(regions, found).map { region, direction in
            let isTurned = direction.isTurned ?? Self.isMostlyTurned(regions, found, isTall: region.isTall)
            return (region.isTall ? 1 : 0) + (isTurned ? 2 : 0)
        }
    }

    private func direction(
        _ region: ReaderPage.Region, _ page: ReaderPage, _ turn: Model
    ) async throws(InferenceError) -> Direction {
        let line = try crop(region, page, region.isTall ? 1 : 0)
        let results = await turn.classifications(
            of: [line], top: 1, threshold: 0, options: ownOptions, slot: slot)
        guard let result = try results.first?.get() else { return Direction() }
        let best = result.classifications.first.flatMap { $0.confidence > Self.sureness ? $0.label : nil }
        return Direction(isTurned: best.map { $0 == ReaderDescription.directions[1] }, times: result.times)
    }

    /// True if most of the text, by length, of which the classifier is sure stands on its head.
    private static func isMostlyTurned(
        _ regions: [ReaderPage.Region], _ found: [Direction], isTall: Bool
    ) -> Bool {
        var sum = 0
        for (region, direction) in zip(regions, found) where region.isTall == isTall {
            guard let isTurned = direction.isTurned else { continue }
            sum += (isTurned ? 1 : -1) * max(region.width, region.height)
        }
        return sum > 0
    }

    /// The confidence above which the classifier is sure.
    private static let sureness: Float = 0.9

    // MARK: Lines

    /// A line, and the times of reading it.
    private struct ReadLine: Sendable {
        let line: TextLine
        let times: StageTimes
    }

    /// The number of lines with tensors of one width, that of the longest. With another margin the recognizer reads
    /// some lines otherwise, so the groups are those of the reference. An engine also takes time to prepare each shape.
    private static let group = 6

    /// The lines of all regions: groups of similar length, as many at a time as the recognizer has infer requests.
    private func lines(
        _ regions: [ReaderPage.Region], _ page: ReaderPage, _ times: inout StageTimes
    ) async throws(InferenceError) -> [TextLine] {
        guard !regions.isEmpty else { return [] }
        let turns = try await quarterTurns(regions, page, &times)
        let start = MonotonicInstant.now
        let groups = Self.groups(regions)
        let results = try await Parallel.results(groups.count, width: reader.read.instances) {
            (number) throws(InferenceError) in
            let options = optionsOfLines(groups[number].map { regions[$0] })
            var lines: [ReadLine] = []
            for index in groups[number] {
                lines.append(try await line(regions[index], turns[index], index, page, options))
            }
            return lines
        }.flatMap { $0 }
        let time = MonotonicInstant.now.nanoseconds(since: start)
        for result in results { times.add(result.times) }
        times.add(StageTimes.Stage(name: ReaderPart.read.rawValue, nanoseconds: time))
        // The slot belongs to the detector: charge the client's use of the recognizer to its share there.
        reader.read.limiter.charge(options.claim, nanoseconds: time)
        let threshold = request.threshold ?? ObservationReader.textThreshold
        return results.map(\.line).filter { $0.confidence >= threshold && !$0.isBlank }
    }

    /// The indices of the regions, in groups of similar length.
    private static func groups(_ regions: [ReaderPage.Region]) -> [[Int]] {
        let order = regions.indices.sorted { (regions[$0].ratio, $0) < (regions[$1].ratio, $1) }
        return stride(from: 0, to: order.count, by: group).map { Array(order[$0..<min($0 + group, order.count)]) }
    }

    /// The options for the recognizer, with the width of a group's tensors.
    private func optionsOfLines(_ group: [ReaderPage.Region]) -> PredictionOptions {
        var options = ownOptions
        options.measures = false
        guard let height = reader.read.imageSpec?.height else { return options }
        let longest = Double(height) * (group.map(\.ratio).max() ?? 0)
        let width = max(ReaderDescription.narrowest, Int(min(longest, Double(ReaderDescription.widest))))
        options.size = ImageSize(width: width, height: height)
        return options
    }

    private func line(
        _ region: ReaderPage.Region, _ quarterTurns: Int, _ index: Int, _ page: ReaderPage,
        _ options: PredictionOptions
    ) async throws(InferenceError) -> ReadLine {
        let crop = try crop(region, page, quarterTurns)
        var asked = ObservationRequest(task: .read)
        asked.threshold = 0
        let result = try await reader.read.observation(of: crop, request: asked, options: options, slot: slot)
        guard case .text(let text) = result.content else {
            throw .unsupported(model: reader.read.description.name, reason: "does not give text")
        }
        var line = TextLine(
            text.lines.first?.characters ?? [], corners: region.corners(quarterTurns).map(page.geometry.picture))
        line.region = index
        line.quarterTurns = quarterTurns
        return ReadLine(line: line, times: result.times)
    }

    /// The upright picture of a region.
    private func crop(
        _ region: ReaderPage.Region, _ page: ReaderPage, _ quarterTurns: Int
    ) throws(InferenceError) -> EncodedImage {
        if Task.isCancelled || options.deadline.hasPassed { throw .stopped(at: .decode) }
        do throws(ImageError) {
            return try page.crop(region, quarterTurns: quarterTurns)
        } catch {
            throw .image(error, input: nil)
        }
    }

    // MARK: Explaining

    /// The picture that a network gets: the detector, or another one for a line, counted in reading order.
    func explanation(
        of image: EncodedImage, _ part: ReaderPart, line number: Int
    ) async throws(InferenceError) -> PreprocessedImage {
        let held = try await hold(image), page = held.page
        if part == .find {
            let size = page.geometry.page
            return try await reader.find.preprocess(
                lowPriority: EncodedImage(page.pixels, time: UInt64(clamping: size.width &* size.height)),
                options: ownOptions)
        }
        let (regions, _, _) = try await regions(of: page)
        var times = StageTimes()
        let lines = PageText(try await lines(regions, page, &times), maximum: request.top).lines
        guard lines.indices.contains(number) else {
            throw .invalidInput(
                name: "line",
                reason: "expected a number below \(lines.count), as many as there are lines, found \(number)")
        }
        let region = regions[lines[number].region]
        guard part == .turn else {
            let group = Self.groups(regions).first { $0.contains(lines[number].region) } ?? []
            return try await reader.read.preprocess(
                lowPriority: try crop(region, page, lines[number].quarterTurns),
                options: optionsOfLines(group.map { regions[$0] }))
        }
        guard let turn = reader.turn else {
            throw .invalidInput(name: "stage", reason: "the reader has no classifier of direction")
        }
        return try await turn.preprocess(
            lowPriority: try crop(region, page, region.isTall ? 1 : 0), options: ownOptions)
    }
}
