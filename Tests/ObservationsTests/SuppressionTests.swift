import Observations
import TestSupport
import Testing

@Suite struct SuppressionTests {
    /// Compares every pair, by the definition.
    private static func reference(
        _ boxes: [[Float]], scores: [Float], labels: [Int], iou: Float, perClass: Bool, maximum: Int
    ) -> [Int] {
        let order = boxes.indices.sorted { scores[$0] == scores[$1] ? $0 < $1 : scores[$0] > scores[$1] }
        var isDropped = [Bool](repeating: false, count: boxes.count)
        var kept: [Int] = []
        for (place, one) in order.enumerated() where !isDropped[one] {
            kept.append(one)
            for other in order[(place + 1)...] where !perClass || labels[one] == labels[other] {
                let a = boxes[one], b = boxes[other]
                let width = min(a[2], b[2]) - max(a[0], b[0]), height = min(a[3], b[3]) - max(a[1], b[1])
                guard width > 0, height > 0 else { continue }
                let union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
                if width * height > iou * union { isDropped[other] = true }
            }
        }
        return Array(kept.prefix(maximum))
    }

    /// Coordinates and scores have few distinct values: many ties, equal boxes, boxes without area or with reversed
    /// sides.
    @Test("suppression of ten thousand random sets equals a comparison of all pairs")
    func agreesWithTheDefinitionOnTenThousandSets() throws {
        let seed = SplitMix.seed(for: "agreesWithTheDefinitionOnTenThousandSets")
        var random = SplitMix(seed: seed)
        for set in 0..<10_000 {
            let count = Int.random(in: 1...40, using: &random)
            var boxes: [[Float]] = [], scores: [Float] = [], labels: [Int] = []
            for _ in 0..<count {
                let left = Float(Int.random(in: 0...8, using: &random)),
                    top = Float(Int.random(in: 0...8, using: &random))
                let width = Float(Int.random(in: -1...6, using: &random)),
                    height = Float(Int.random(in: 0...6, using: &random))
                boxes.append([left, top, left + width, top + height])
                scores.append(Float(Int.random(in: 1...10, using: &random)) / 10)
                labels.append(Int.random(in: 0...2, using: &random))
            }
            let iou = Float([0, 0.25, 0.5, 0.75, 1].randomElement(using: &random) ?? 0.5)
            let perClass = Bool.random(using: &random)
            let maximum = Int.random(in: 1...45, using: &random)
            var decoding = BoxDecoding(layout: .corners)
            decoding.units = .pixels
            decoding.threshold = 0.05
            decoding.iou = iou
            decoding.suppression = perClass ? .perClass : .all
            decoding.maxDetections = maximum
            var classScores = [Float](repeating: 0, count: count * 3)
            for index in 0..<count { classScores[index * 3 + labels[index]] = scores[index] }
            let tensors = OwnedTensors([
                ("boxes", [1, count, 4], boxes.flatMap { $0 }), ("scores", [1, count, 3], classScores),
            ])
            let decoder = try BoxDecoder(
                decoding, shapes: ["boxes": [[1, count, 4]], "scores": [[1, count, 3]]], width: 16, height: 16,
                classes: 3)
            let found = try tensors.withTensors { try decoder.detections(in: $0) }
            let expected = Self.reference(
                boxes, scores: scores, labels: labels, iou: iou, perClass: perClass, maximum: maximum)
            let wanted = expected.map {
                Detection(
                    box: Box(left: boxes[$0][0], top: boxes[$0][1], right: boxes[$0][2], bottom: boxes[$0][3]),
                    index: labels[$0], confidence: scores[$0], row: $0)
            }
            #expect(found == wanted, "set \(set) of seed \(seed)")
            if found != wanted { return }
        }
    }
}
