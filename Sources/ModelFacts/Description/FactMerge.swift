extension FactSheet {
    /// Merges all sources: of two values for the same fact the stronger one counts (``FactBasis``), of two equally
    /// strong ones the first. Differences are noted.
    package static func merged(_ sheets: [FactSheet]) -> FactSheet {
        sheets.reduce(into: FactSheet()) { $0.add($1) }
    }

    private mutating func add(_ other: FactSheet) {
        merge(\.framing, other, "resize and crop", same: { $0.isSame(as: $1) }) { $0.description }
        merge(\.filter, other, "resampler") { $0.rawValue }
        merge(\.order, other, "channel order") { $0.rawValue }
        merge(\.normalization, other, "normalization", same: { $0.isSame(as: $1) }) { $0.description }
        merge(\.fill, other, "fill") { "\($0)" }
        merge(\.task, other, "task") { $0 }
        merge(\.inputSize, other, "input size") { "\($0.height)x\($0.width)" }
        merge(\.labels, other, "labels") { $0.summary }
        merge(\.multiLabel, other, "several labels at once") { $0 ? "yes" : "no" }
        merge(\.head, other, "meaning of the outputs", same: { $0 == $1 || $0.isYOLO && $1.isYOLO }) { $0.rawValue }
        merge(\.stride, other, "stride") { "\($0)" }
        merge(\.keypoints, other, "keypoints") { "\($0)" }
        merge(\.finalRows, other, "final detections") { $0 ? "yes" : "no" }
        merge(\.confidence, other, "confidence threshold") { "\($0)" }
        merge(\.iou, other, "IoU threshold") { "\($0)" }
        merge(\.pooling, other, "pooling") { $0.rawValue }
        usualEnding = usualEnding ?? other.usualEnding
        placeholderLabels = placeholderLabels ?? other.placeholderLabels
        backgroundLabel = backgroundLabel ?? other.backgroundLabel
        inputQuantization = inputQuantization ?? other.inputQuantization
        if outputQuantizations.isEmpty { outputQuantizations = other.outputQuantizations }
        // Descriptions often differ without a contradiction.
        name = name ?? other.name
        details = details ?? other.details
        author = author ?? other.author
        license = license ?? other.license
        version = version ?? other.version
        if outputs.isEmpty { outputs = other.outputs }
        if endings.isEmpty { endings = other.endings }
        unsupported += other.unsupported
        problems += other.problems
        disagreements += other.disagreements
    }

    private mutating func merge<Value>(
        _ path: WritableKeyPath<FactSheet, Fact<Value>?>, _ other: FactSheet, _ subject: String,
        same: (Value, Value) -> Bool = { $0 == $1 }, _ show: (Value) -> String
    ) {
        guard let theirs = other[keyPath: path] else { return }
        guard let mine = self[keyPath: path] else {
            self[keyPath: path] = theirs
            return
        }
        let (winner, loser) = theirs.basis > mine.basis ? (theirs, mine) : (mine, theirs)
        self[keyPath: path] = winner
        // Conventions and defaults contradict no other source.
        guard !same(mine.value, theirs.value), mine.source != theirs.source, loser.basis == .stated else { return }
        disagreements.append(
            Disagreement(
                subject: subject, winner: winner.source, loser: loser.source, winning: show(winner.value),
                losing: show(loser.value)))
    }
}

extension PictureFraming: CustomStringConvertible {
    /// True if both are equal, where either may leave the letterbox's size to the model file.
    func isSame(as other: PictureFraming) -> Bool {
        if case .letterbox(let size, let topLeft) = resize,
            case .letterbox(let otherSize, let otherSide) = other.resize, topLeft == otherSide
        {
            return (size == nil || otherSize == nil || size == otherSize) && crop == other.crop
        }
        return self == other
    }

    /// A description: `shorter side to 256, then 224x224 from the middle`.
    package var description: String {
        let first =
            switch resize {
            case .exact(let size): "scaled to \(size.height)x\(size.width)"
            case .stretch: "scaled to the input's size"
            case .shortest(let side): "shorter side to \(side)"
            case .contain(let size): "within \(size.height)x\(size.width)"
            case .cover(let size): "over \(size.height)x\(size.width)"
            case .letterbox(let size, let topLeft):
                "letterbox\(size.map { " of \($0.height)x\($0.width)" } ?? "")\(topLeft ? ", top left" : "")"
            case .largest: "the largest part of the input's shape"
            case .none: "as it is"
            }
        return first + (crop.map { ", then \($0.height)x\($0.width) from the middle" } ?? "")
    }
}

extension PictureNormalization: CustomStringConvertible {
    package var description: String {
        "(pixel * \(rescale)\(offset == 0 ? "" : " + \(offset)") - \(mean)) / \(std)\(dividesTwice ? " twice" : "")"
    }
}

extension [String] {
    /// The number of elements, and the first ones.
    var summary: String {
        "\(count) (" + prefix(3).map { "\"\($0.prefix(40))\"" }.joined(separator: ", ") + (count > 3 ? ", …)" : ")")
    }
}
