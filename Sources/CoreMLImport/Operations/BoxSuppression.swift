/// Non-maximum suppression: keeps the boxes with the highest scores that do not overlap a better one too much.
struct BoxSuppression {
    /// The maximum number of boxes to keep.
    let maximum: Int
    /// True if only boxes of the same class suppress each other. The class of a box is that with its highest score.
    var isPerClass = false
    /// Scalars: a box is suppressed if its intersection over union with a better one exceeds `overlap`, or if its score
    /// does not exceed `score`.
    var overlap: Graph.Value, score: Graph.Value

    private static let limit = 1 << 16

    init(maximum: Int, overlap: Graph.Value, score: Graph.Value) throws(Problem) {
        guard maximum > 0, maximum <= Self.limit else { throw Problem("unsupported maximum of \(maximum) boxes") }
        self.maximum = maximum
        self.overlap = overlap
        self.score = score
    }
}

extension GraphBuilder {
    private static let maximumImages = 64

    /// Keeps the best of `boxes` [batch, n, 4] (center x and y, width, height) by their `scores` [batch, n, classes].
    /// If no score is high enough, keeps the best box.
    /// - Returns: boxes [batch, most, 4] and scores [batch, most, classes], ordered by score and padded with zeros;
    ///   their indices [batch, most], padded with -1; their number [batch]. The last two are i64.
    func suppressed(boxes: Graph.Value, scores: Graph.Value, _ suppression: BoxSuppression) throws(Problem)
        -> [Graph.Value]
    {
        guard boxes.rank == 3, scores.rank == 3, boxes.shape[2] == 4, let classes = scores.shape[2],
            let batch = boxes.shape[0] ?? scores.shape[0], scores.shape[0] ?? batch == batch
        else {
            throw Problem(
                "boxes \(shapeText(boxes.shape)) with scores \(shapeText(scores.shape)): expected [images,boxes,4] and "
                    + "[images,boxes,classes]")
        }
        guard batch > 0, batch <= Self.maximumImages else { throw Problem("unsupported batch of \(batch) images") }
        var kept: [[Graph.Value]] = [[], [], [], []]
        for image in 0..<batch {
            func part(_ value: Graph.Value) throws(Problem) -> Graph.Value {
                batch == 1
                    ? value : try slice(value, axes: [0], starts: [image], ends: [image + 1], steps: [1])
            }
            let results = try keep(boxes: part(boxes), scores: part(scores), classes: classes, suppression)
            for (place, value) in results.enumerated() { kept[place].append(try unsqueeze(value, [0])) }
        }
        var joined: [Graph.Value] = []
        for parts in kept { joined.append(try concat(parts, axis: 0)) }
        return joined
    }

    /// Suppresses the boxes of one image. Returns boxes [most, 4], scores [most, classes], indices [most] and the
    /// number [].
    private func keep(
        boxes: Graph.Value, scores: Graph.Value, classes: Int, _ suppression: BoxSuppression
    ) throws(Problem) -> [Graph.Value] {
        let maximum = suppression.maximum
        let best = operation(
            "ReduceMax", 1, [scores, integers([2])], ["keep_dims": false], shape: [1, scores.shape[1]])
        var ranked = try unsqueeze(best, [1])
        if suppression.isPerClass, classes > 1 {
            // Let a box compete only in its own class.
            let owner = operation(
                "TopK", 11, [scores, scalar(1)],
                ["axis": 2, "mode": "max", "sort": "value", "index_element_type": "i64", "stable": true],
                outputs: [(scores.type, [1, scores.shape[1], 1]), (.i64, [1, scores.shape[1], 1])])[1]
            let isOwn = try binary("Equal", owner, integers(Array(0..<classes)))
            ranked = try transpose(
                select(isOwn, scores, float(-Float.greatestFiniteMagnitude)), [0, 2, 1])
        }
        let found = operation(
            "NonMaxSuppression", 9,
            [boxes, ranked, scalar(maximum), suppression.overlap, suppression.score],
            ["box_encoding": "center", "sort_result_descending": true, "output_type": "i64"],
            outputs: [(.i64, [nil, 3]), (.f32, [nil, 3]), (.i64, [1])])
        let places = try gather(found[0], scalar(2), axis: 1)
        // If no box is good enough, keep the best one.
        let top = operation(
            "TopK", 11, [try squeeze(best, [0]), scalar(1)],
            ["axis": 0, "mode": "max", "sort": "value", "index_element_type": "i64", "stable": true],
            outputs: [(best.type, [1]), (.i64, [1])])[1]
        let none = try constant(
            .i64, shape: [maximum], bytes: Bytes(of: [Int64](repeating: -1, count: maximum)))
        let isEmpty = try binary("Equal", found[2], integers([0]))
        let padded = try slice(concat([places, none], axis: 0), axes: [0], starts: [0], ends: [maximum], steps: [1])
        let first =
            try maximum == 1
            ? top : concat([top, slice(none, axes: [0], starts: [1], ends: [maximum], steps: [1])], axis: 0)
        let chosen = try select(
            isEmpty, first,
            operation("Reshape", 1, [padded, integers([maximum])], ["special_zero": false], shape: [maximum]))
        let isKept = try binary("GreaterEqual", chosen, scalar(0))
        let indices = try binary("Maximum", chosen, scalar(0))
        func picked(_ value: Graph.Value) throws(Problem) -> Graph.Value {
            try select(unsqueeze(isKept, [1]), gather(squeeze(value, [0]), indices, axis: 0), float(0))
        }
        let count = operation(
            "ReduceSum", 1, [convert(isKept, to: .i64), integers([0])], ["keep_dims": false], shape: [])
        return [try picked(boxes), try picked(scores), chosen, count]
    }
}
