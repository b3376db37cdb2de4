import Foundation
import Teaching

/// Teaches, moves, forgets, evaluates and removes in an order that a seed gives, and writes a line when each step is
/// acknowledged: the state as text. TeachingTests kills it, and compares what it left.
///
/// usage: TeachingProbe run FOLDER SEED STEPS | TeachingProbe state FOLDER
struct Probe {
    let store: TaughtStore
    var generator: UInt64

    mutating func next(_ limit: Int) -> Int {
        generator = generator &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((generator >> 33) % UInt64(limit))
    }

    mutating func step(_ number: Int) throws {
        guard let model = store.model("parts") else {
            _ = try store.create(
                "parts", Embedder(model: "embedder", version: "1", digest: "sha256:1"), dimension: 8, .auto)
            return
        }
        let examples = Array(model.view.state.examples)
        switch next(20) {
        case 0 where number % 40 > 30: try store.remove("parts")
        case 1...3 where !examples.isEmpty: try model.forget(examples[next(examples.count)].id)
        case 4 where !examples.isEmpty: try model.forget(label: examples[next(examples.count)].label)
        case 5...6 where !examples.isEmpty:
            let example = examples[next(examples.count)]
            let moved = TaughtModel.NewExample(
                id: example.id, label: "class \(next(4))", embedding: example.embedding)
            _ = try model.teach([moved], time: number)
        case 7...8: try model.evaluate(time: number)
        case 9...10 where !model.view.state.versions.isEmpty:
            let versions = model.view.state.versions
            try model.serve(versions[next(versions.count)].number)
        default:
            let count = 1 + next(3)
            let new = (0..<count).map { index in
                let picture = Array("picture \(number) \(index)".utf8)
                let label = next(4)
                let embedding = (0..<8).map { Float(next(1000)) / 1000 + ($0 == label ? 1 : 0) }
                return TaughtModel.NewExample(
                    id: picture.withUnsafeBytes { ExampleID(of: $0) }, label: "class \(label)", embedding: embedding,
                    picture: picture)
            }
            _ = try model.teach(new, time: number)
        }
    }

    var text: String {
        guard let model = store.model("parts") else { return "none" }
        let state = model.view.state
        let versions = state.versions.map {
            "\($0.number) \($0.method) \($0.examples) \($0.evaluation.map { "\($0.method) \($0.correct)" } ?? "-")"
        }
        let examples = state.examples.map { "\($0.id) \($0.label) \($0.since) \($0.earlier) \($0.embedding)" }
        return "\(state.next) \(state.serving) \(versions) \(examples)"
    }
}

let arguments = CommandLine.arguments
var probe = Probe(
    store: try TaughtStore(folder: arguments[2]), generator: UInt64(arguments.dropFirst(3).first ?? "0") ?? 0)
if arguments[1] == "state" {
    print(probe.text)
} else {
    for number in 0..<(Int(arguments[4]) ?? 0) {
        try probe.step(number)
        FileHandle.standardOutput.write(Data((probe.text + "\n").utf8))
    }
}
