internal import FoundationEssentials
internal import Inference
internal import JSON
internal import Settings
internal import SystemSupport

/// The items of `ocelli train`: a file with one per line, `{input: value}`, converted to the tensors of the graph's
/// inputs, from which batches are taken.
struct TrainingBatch: Sendable {
    let inputs: [TrainerProcess.Job.Input]
    let count: Int

    /// The maximum size of the file, and the maximum count of numbers in all items.
    private static let maximumBytes = 1 << 30, maximumNumbers = 1 << 27

    /// Reads the file, and the pictures that it names. Blocks.
    /// - Parameters:
    ///   - size: the number of items of a batch; nil for all.
    ///   - tensors: the folder for the tensors of pictures.
    ///   - maximum: the maximum number of bytes of a picture.
    init(
        _ path: String, for bundle: TrainingBundle, size: Int?, tensors: String, maximum: Int
    ) throws(CommandError) {
        let bytes: [UInt8]
        do throws(CommandError) { bytes = try InputFile.read(path, maximum: Self.maximumBytes) } catch {
            throw CommandError("\(path) \(error)")
        }
        let folder = FilePath.folder(of: path)
        var values = [[Double]](repeating: [], count: bundle.inputs.count)
        var files = [[String]](repeating: [], count: bundle.inputs.count)
        var (number, items, total) = (0, 0, 0)
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            guard !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { continue }
            do throws(CommandError) {
                let item = try Self.item(line, bundle)
                items += 1
                for (index, input) in bundle.inputs.enumerated() {
                    let value = item[input.name]
                    if input.isPlaceholder, items > 1, value == nil { continue }
                    guard let value else { throw CommandError("input \"\(input.name)\" is missing") }
                    guard !input.isPlaceholder || items == 1 else {
                        throw CommandError("placeholder \"\(input.name)\" may stand in the first item only")
                    }
                    if input.isPicture {
                        let name = "\(tensors)/\(index)-\(items).npy"
                        try OutputFile.write(Self.picture(value, input, folder, maximum), to: name)
                        files[index].append(name)
                    } else {
                        values[index] += try Self.numbers(value, input)
                    }
                    total += input.count ?? 0
                    guard total <= Self.maximumNumbers else {
                        throw CommandError("the batch has more than \(Self.maximumNumbers) numbers up to here")
                    }
                }
            } catch {
                throw CommandError("\(path), line \(number): \(error)")
            }
        }
        guard items > 0 else { throw CommandError("\(path) has no items: expected one a line") }
        count = items
        var inputs: [TrainerProcess.Job.Input] = []
        for (index, input) in bundle.inputs.enumerated() {
            let rows = input.isPlaceholder ? 1 : items
            guard input.hasBatch || rows == 1 || size == 1 else {
                throw CommandError(
                    "input \"\(input.name)\" has no batch axis (a first extent of -1 in its shape): a batch can have one item, "
                        + "it has \(min(size ?? items, items)); use --batch-size 1")
            }
            inputs.append(
                .init(
                    name: input.name, shape: (input.hasBatch || rows > 1 ? [rows] : []) + input.shape,
                    feed: rows == 1 && (input.isPlaceholder || !input.hasBatch)
                        ? .whole : input.hasBatch ? .rows : .each,
                    files: input.isPicture ? files[index] : nil, values: input.isPicture ? nil : values[index]))
        }
        self.inputs = inputs
    }

    private static func item(
        _ line: ArraySlice<UInt8>, _ bundle: TrainingBundle
    ) throws(CommandError) -> [String: JSONValue] {
        let value: JSONValue
        do throws(JSONTextError) { value = try JSONValue.parse(Data(line)) } catch {
            throw CommandError("is not valid JSON: \(error.reason)")
        }
        let names = bundle.inputs.map(\.name)
        guard case .object(let members) = value else {
            throw CommandError("expected an object with \(names.joined(separator: ", ")), found \(value.kind)")
        }
        for key in members.keys.sorted() where !names.contains(key) {
            throw CommandError(
                "\"\(key.prefix(60))\" is not an input\(Spelling.hint(for: key, among: names)): expected "
                    + names.joined(separator: ", "))
        }
        return members
    }

    private static func picture(
        _ value: JSONValue, _ input: TrainingBundle.Input, _ folder: String, _ maximum: Int
    ) throws(CommandError) -> [UInt8] {
        let bytes: [UInt8], name: String
        switch value {
        case .string(let file):
            name = file
            do throws(CommandError) {
                bytes = try InputFile.read(file.hasPrefix("/") ? file : folder + file, maximum: maximum)
            } catch {
                throw CommandError("input \"\(input.name)\": \(file) \(error)")
            }
        case .object(let members):
            name = "\"b64\""
            let expected = "input \"\(input.name)\": expected a picture as {\"b64\": \"...\"}"
            guard members.count == 1, case .string(let text)? = members["b64"] else {
                throw CommandError("\(expected), found an object with other members")
            }
            bytes = try base64(text, expected)
            guard bytes.count <= maximum else {
                throw CommandError(
                    "input \"\(input.name)\": \(name) has \(Units.bytes(bytes.count)), more than max_body allows "
                        + "(\(Units.bytes(maximum)))")
            }
        default:
            throw CommandError(
                "input \"\(input.name)\": expected the name of a picture file, or {\"b64\": \"...\"}, found \(value.kind)"
            )
        }
        do throws(InferenceError) { return try input.tensor(of: bytes) } catch {
            throw CommandError("input \"\(input.name)\": \(name): \(error.message)")
        }
    }

    private static func base64(_ text: String, _ expected: String) throws(CommandError) -> [UInt8] {
        var quoted: [UInt8] = []
        JSONText.appendString(text, to: &quoted)
        do throws(JSONError) {
            return try quoted.withUnsafeBytes { raw -> Result<[UInt8], JSONError> in
                Result { () throws(JSONError) in
                    var scanner = JSONScanner(raw)
                    return try scanner.base64 { .value("found \($0)") }
                }
            }.get()
        } catch {
            throw CommandError("\(expected), \(error.message)")
        }
    }

    private static func numbers(_ value: JSONValue, _ input: TrainingBundle.Input) throws(CommandError) -> [Double] {
        var result: [Double] = []
        func read(_ value: JSONValue, depth: Int) throws(CommandError) {
            switch value {
            case .integer(let number): result.append(Double(number))
            case .number(let number): result.append(number)
            case .bool(let bool): result.append(bool ? 1 : 0)
            case .array(let elements) where depth < 16:
                for element in elements { try read(element, depth: depth + 1) }
            case let other: throw CommandError("input \"\(input.name)\": expected numbers, found \(other.kind)")
            }
        }
        try read(value, depth: 0)
        guard let count = input.count, result.count == count else {
            throw CommandError(
                "input \"\(input.name)\": expected \(input.count ?? 0) numbers (shape \(input.shape)), found \(result.count)"
            )
        }
        return result
    }
}
