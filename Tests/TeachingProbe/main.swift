import Foundation
import Teaching

/// Teaches, moves, forgets, evaluates and removes in an order that depends on a seed, and writes a line with the state
/// when each step is acknowledged. TeachingTests kills the process and compares its files.
///
/// With `run-compacting` the journal is compacted at every change that leaves something to drop, with `run` never. With
/// `run-named` and `run-named-compacting` examples have names, and get others. With `run-normal` and
/// `run-normal-compacting` the method is `normal`, and with `run-normal-patches` and `run-normal-patches-compacting` it
/// compares patches, of which some are chosen.
/// `full` fills the disk and forgets everything; `full-damaged` damages the end of a journal on a full disk. `script`
/// and `script-compacting` read the changes from standard input (``Script``), and `contents` writes their result.
///
/// usage: TeachingProbe run[-named][-normal[-patches]][-compacting] FOLDER SEED STEPS
///     | TeachingProbe state|full|full-damaged|script[-compacting]|contents FOLDER
struct Probe {
    let store: TaughtStore
    var generator: UInt64
    let hasNames: Bool
    let isNormal: Bool
    let hasPatches: Bool

    /// The patches that a picture's numbers give: two of four numbers.
    private func patches(_ embedding: [Float]) -> PatchVectors? {
        hasPatches ? PatchVectors(embedding, width: 4) : nil
    }

    private func label(_ number: Int) -> String { isNormal ? "normal" : "class \(number)" }

    /// A name that depends on the step; nil for some steps.
    private func name(_ number: Int) -> String? {
        hasNames && number % 3 > 0 ? "name \(number)" : nil
    }

    mutating func next(_ limit: Int) -> Int {
        generator = generator &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((generator >> 33) % UInt64(limit))
    }

    mutating func step(_ number: Int) throws {
        guard let model = store.model("parts") else {
            _ = try store.create(
                "parts", Embedder(model: "embedder", version: "1", digest: "sha256:1"), dimension: 8,
                isNormal ? .normal(falseAlarms: 0.1) : .auto,
                grid: hasPatches ? PatchGrid(rows: 1, columns: 2, width: 4) : nil)
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
                id: example.id, label: label(next(4)), embedding: example.embedding, name: name(number))
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
                    id: picture.withUnsafeBytes { ExampleID(of: $0) }, label: self.label(label), embedding: embedding,
                    patches: patches(embedding), picture: picture, name: name(number))
            }
            _ = try model.teach(new, time: number)
        }
    }

    var text: String {
        guard let model = store.model("parts") else { return "none" }
        let state = model.view.state
        let versions = state.versions.map {
            "\($0.number) \($0.method) \($0.examples) "
                + ($0.evaluation.map { "\($0.method) \($0.correct) \($0.leftOut?.scores ?? []) \($0.kept != nil)" }
                    ?? "-")
        }
        // Earlier classes that no kept version uses may be dropped at any time.
        let oldest = state.versions.first?.number ?? state.next
        let examples = state.examples.map { example in
            let earlier = example.earlier.filter { $0.until >= oldest }
            let name = example.name.map { " \($0)" } ?? ""
            let patches = example.patches.map { " \($0.bytes)" } ?? ""
            return "\(example.id) \(example.label) \(example.since) \(earlier) \(example.embedding)\(patches)\(name)"
        }
        return "\(state.next) \(state.serving) \(versions) \(examples)"
    }
}

/// The reason why a step on the full disk failed.
struct Failure: Error {
    let text: String
}

/// Fills a disk, and forgets examples on it.
struct FullDisk {
    let folder: String
    let store: TaughtStore
    private var files: FileManager { .default }

    func example(_ number: Int, _ label: String) -> TaughtModel.NewExample {
        let picture = Array("picture \(number) \(label)".utf8)
        return TaughtModel.NewExample(
            id: picture.withUnsafeBytes { ExampleID(of: $0) }, label: label,
            embedding: (0..<64).map { Float(number * 64 + $0) }, name: "name \(number) of \(label)")
    }

    func isFull(_ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return false
        } catch TeachingError.full {
            return true
        }
    }

    /// Fills the rest of the disk.
    func fill() {
        let file = open(folder + "/../fill", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        defer { close(file) }
        var count = 4096
        while count > 0 { if write(file, [UInt8](repeating: 1, count: count), count) != count { count /= 2 } }
    }

    func teachUntilFull(_ name: String) throws -> TaughtModel {
        let model = try store.create(
            name, Embedder(model: "embedder", version: "1", digest: "sha256:1"), dimension: 64, .fixed(.nearestMean)
        ).model
        var number = 0
        while try !isFull({ _ = try model.teach([example(number, number % 5 == 0 ? "b" : "a")], time: 1) }) {
            number += 1
        }
        guard number == model.view.state.examples.count, number > 5 else {
            throw Failure(text: "\(number) taught, \(model.view.state.examples.count) there")
        }
        return model
    }

    func check(_ gone: [Example]) throws {
        var contents = Data()
        for case let name as String in files.enumerator(atPath: folder) ?? .init() {
            contents += files.contents(atPath: folder + "/" + name) ?? Data()
        }
        for example in gone {
            let numbers = example.embedding.withUnsafeBytes { Data($0) }
            let name = Data((example.name ?? "no name").utf8)
            guard [Data(example.id.bytes), numbers, name].allSatisfy({ contents.range(of: $0) == nil }) else {
                throw Failure(text: "a file has what was forgotten")
            }
        }
    }

    func forgetEverything() throws {
        let small = try store.create(
            "small", Embedder(model: "embedder", version: "1", digest: "sha256:1"), dimension: 64,
            .normal(falseAlarms: 0.1)
        ).model
        let normal = [example(100_001, "normal"), example(100_002, "normal")]
        _ = try small.teach(normal, time: 1)
        let model = try teachUntilFull("large")
        fill()
        let examples = Array(model.view.state.examples)
        for example in examples.prefix(20) {
            try model.forget(example.id)
            try check([example])
            fill()
        }
        try small.forget(normal[0].id)
        fill()
        guard small.view.state.examples.map(\.name) == [normal[1].name] else { throw Failure(text: "a name is lost") }
        for label in Set(model.view.state.examples.map(\.label)).sorted() {
            try model.forget(label: label)
            fill()
        }
        try check(examples)
        try small.forget(label: "normal")
        fill()
        guard try isFull({ for number in 0..<10_000 { _ = try model.teach([example(number, "c")], time: 1) } }) else {
            throw Failure(text: "the disk is not full")
        }
        try store.remove("large")
        guard model.view.state.examples.isEmpty || store.model("large") == nil else { return }
        print("everything forgotten")
    }
}

let arguments = CommandLine.arguments
var limits = TeachingLimits()
if arguments[1].hasPrefix("run") || arguments[1].hasPrefix("script") {
    limits.slack = arguments[1].hasSuffix("-compacting") ? -1 << 20 : 1 << 40
}
limits.patches = 20
switch arguments[1] {
case "full":
    try FullDisk(folder: arguments[2], store: TaughtStore(folder: arguments[2])).forgetEverything()
case "full-damaged":
    var count = 0
    do {
        let disk = FullDisk(folder: arguments[2], store: try TaughtStore(folder: arguments[2]))
        count = try disk.teachUntilFull("large").view.state.examples.count
        disk.fill()
    }
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: arguments[2] + "/large/journal"))
    try file.seek(toOffset: try file.seekToEnd() - 1)
    try file.write(contentsOf: Data([0xA5]))
    let store = try TaughtStore(folder: arguments[2])
    guard store.model("large")?.view.state.examples.count == count - 1 else {
        throw Failure(text: "\(store.problems)")
    }
    print("kept: \(store.notices)")
case "contents":
    print(try Script(store: TaughtStore(folder: arguments[2])).contents(), terminator: "")
case let mode where mode.hasPrefix("script"):
    let script = Script(store: try TaughtStore(folder: arguments[2], limits: limits))
    var time = 0
    while let line = readLine() {
        try script.run(line, time: time)
        time += 1
    }
default:
    var probe = Probe(
        store: try TaughtStore(folder: arguments[2], limits: limits),
        generator: UInt64(arguments.dropFirst(3).first ?? "0") ?? 0, hasNames: arguments[1].contains("named"),
        isNormal: arguments[1].contains("normal"), hasPatches: arguments[1].contains("patches"))
    if arguments[1] == "state" {
        print(probe.text)
    } else {
        for number in 0..<(Int(arguments[4]) ?? 0) {
            try probe.step(number)
            FileHandle.standardOutput.write(Data((probe.text + "\n").utf8))
        }
    }
}
