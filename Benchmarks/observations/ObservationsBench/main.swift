import Foundation
import Observations

// Times the decoding of detectors' outputs. usage: observationsbench FOLDER ROUNDS
//
// FOLDER/cases.json lists the cases (Benchmarks/observations/measure.py writes it), and holds each case's tensor as 32-bit floats.
// A line for each case: its name, the median and the least time in microseconds, the number of detections, and the sum of their
// coordinates, which the script compares with numpy's.

struct Case: Decodable {
    let name: String
    let kind: String
    let file: String
    let shape: [Int]
    let layout: String?
    let scores: String?
    let order: String?
    let multiLabel: Bool?
    let scope: String?
    let maximum: Int
    let iou: Float
    let threshold: Float
}

func fail(_ reason: String) -> Never {
    FileHandle.standardError.write(Data("observationsbench: \(reason)\n".utf8))
    exit(1)
}

guard CommandLine.arguments.count == 3, let rounds = Int(CommandLine.arguments[2]), rounds > 0 else {
    fail("usage: observationsbench FOLDER ROUNDS")
}
let folder = URL(filePath: CommandLine.arguments[1])
let cases = try JSONDecoder().decode([Case].self, from: Data(contentsOf: folder.appending(path: "cases.json")))
let clock = ContinuousClock()

/// The median and the least time of a call in microseconds.
func time(_ body: () throws -> Void) rethrows -> (median: Double, minimum: Double) {
    var times: [Double] = []
    for _ in 0..<rounds {
        let spent = try clock.measure(body)
        times.append(Double(spent.components.attoseconds) / 1e12 + Double(spent.components.seconds) * 1e6)
    }
    times.sort()
    return (times[times.count / 2], times[0])
}

for one in cases {
    let data = try Data(contentsOf: folder.appending(path: one.file))
    let values = data.withUnsafeBytes { bytes in
        (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
    }
    var count = 0, sum = 0.0
    let spent: (median: Double, minimum: Double)
    if one.kind == "suppression" {
        // Rows of a box and its class, the most confident first.
        let rows = values.count / 5
        let boxes = (0..<rows).map { row in
            Box(
                left: values[5 * row], top: values[5 * row + 1], right: values[5 * row + 2],
                bottom: values[5 * row + 3])
        }
        let labels = one.scope == "all" ? nil : (0..<rows).map { Int32(values[5 * $0 + 4]) }
        spent = try time {
            let kept = try Suppression.survivors(of: boxes, labels: labels, iou: one.iou, maximum: one.maximum)
            count = kept.count
            sum = kept.reduce(0) { $0 + Double($1) }
        }
    } else {
        guard let layout = BoxLayout(rawValue: one.layout ?? "") else { fail("\(one.name) has no layout") }
        var decoding = BoxDecoding(layout: layout)
        decoding.threshold = one.threshold
        decoding.iou = one.iou
        decoding.maxDetections = one.maximum
        if let scores = one.scores.flatMap(ScoreForm.init(rawValue:)) { decoding.scores = scores }
        if let order = one.order.flatMap(RowOrder.init(rawValue:)) { decoding.order = order }
        decoding.multiLabel = one.multiLabel ?? false
        let decoder = try BoxDecoder(
            decoding, shapes: ["output": [one.shape]], width: 640, height: 640, classes: nil)
        spent = try values.withUnsafeBufferPointer { values in
            guard let tensor = OutputTensor(shape: one.shape, values: values) else { fail("\(one.name): wrong shape") }
            return try time {
                let found = try decoder.detections(in: ["output": [tensor]])
                count = found.count
                sum = found.reduce(0) {
                    $0 + Double($1.box.left + $1.box.top + $1.box.right + $1.box.bottom) + Double($1.index)
                }
            }
        }
    }
    print("\(one.name)\t\(spent.median)\t\(spent.minimum)\t\(count)\t\(sum)")
}
