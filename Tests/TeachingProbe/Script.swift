import Foundation
import Teaching

/// Changes taught models as the lines of a script say, and writes a line for each that is acknowledged:
///
///     create NAME METHOD | teach NAME (LABEL EXAMPLENAME NUMBER)... | forget NAME NUMBER | forget-class NAME LABEL
///     evaluate NAME | remove NAME
///
/// with tabs between the words. The number of an example makes its picture and its embedding; pictures of even numbers
/// are kept. `contents` writes the models and examples of a folder.
struct Script {
    let store: TaughtStore

    private static func picture(_ number: Int) -> [UInt8] { Array("picture \(number)".utf8) }

    private static func id(_ number: Int) -> ExampleID { picture(number).withUnsafeBytes { ExampleID(of: $0) } }

    private static func embedding(_ number: Int) -> [Float] { (0..<8).map { Float((number * 31 + $0 * 17) % 101) } }

    private func example(_ words: ArraySlice<String>) throws -> TaughtModel.NewExample {
        let words = Array(words)
        guard words.count == 3, let number = Int(words[2]) else { throw Failure(text: "\(words)") }
        return TaughtModel.NewExample(
            id: Self.id(number), label: words[0], embedding: Self.embedding(number),
            picture: number % 2 == 0 ? Self.picture(number) : nil, name: words[1].isEmpty ? nil : words[1])
    }

    func run(_ line: String, time: Int) throws {
        let words = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard words.count > 1 else { throw Failure(text: line) }
        switch (words[0], store.model(words[1])) {
        case ("create", nil):
            guard let method = MethodChoice(words[2], falseAlarms: 0.1) else { throw Failure(text: line) }
            _ = try store.create(
                words[1], Embedder(model: "embedder", version: "1", digest: "sha256:1"), dimension: 8, method)
        case ("teach", let model?):
            let examples = try stride(from: 2, to: words.count, by: 3).map {
                try example(words[$0..<min($0 + 3, words.count)])
            }
            _ = try model.teach(examples, time: time)
        case ("forget", let model?): try model.forget(Self.id(Int(words[2]) ?? 0))
        case ("forget-class", let model?): try model.forget(label: words[2])
        case ("evaluate", let model?): try model.evaluate(time: time)
        case ("remove", .some): try store.remove(words[1])
        default: throw Failure(text: line)
        }
        FileHandle.standardOutput.write(Data("ok\n".utf8))
    }

    /// The models by name, each with its examples by digest.
    func contents() throws -> String {
        guard store.problems.isEmpty else { throw Failure(text: "\(store.problems)") }
        let numbers = Dictionary(uniqueKeysWithValues: (0..<10_000).map { (Self.id($0), $0) })
        return try store.all.sorted { $0.name < $1.name }.map { model in
            let state = model.view.state
            var text = "model \(model.name) \(state.choice.name)"
            if let falseAlarms = state.choice.falseAlarms { text += " \(falseAlarms)" }
            text += " \(state.serving) \(state.next)\n"
            for example in state.examples {
                guard let number = numbers[example.id], Self.embedding(number) == example.embedding else {
                    throw Failure(text: "\(example)")
                }
                let picture = try model.picture(example.id)
                guard picture == nil || picture == Self.picture(number) else {
                    throw Failure(text: "a picture differs")
                }
                text += "\(example.id) \(number) \(picture == nil ? "-" : "picture") \(example.label)"
                text += (example.name.map { " \($0)" } ?? "") + "\n"
            }
            return text
        }.joined()
    }
}
