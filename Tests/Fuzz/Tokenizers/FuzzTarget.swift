import Glibc
import Tokenizers

/// A tokenizer of the fixtures, and the rule that its ids keep.
private struct Case {
    let tokenizer: Tokenizer
    let kept: Kept

    enum Kept: UInt8 {
        case everyByte = 61, equivalence = 126, secondTime = 50, nothing = 45
    }
}

/// The tokenizers for texts, written by `write_seeds.py`: one a line, after the sign of the rule that it keeps.
private let cases: [Case] = {
    guard let path = getenv("FUZZ_TOKENIZERS"), let file = fopen(path, "r") else { fatalError("FUZZ_TOKENIZERS") }
    defer { fclose(file) }
    var bytes: [UInt8] = [], buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
    return bytes.split(separator: UInt8(ascii: "\n")).map { line in
        guard let kept = Case.Kept(rawValue: line[line.startIndex]),
            let tokenizer = try? Tokenizer(json: Array(line.dropFirst()))
        else { fatalError("a fixture is refused: \(String(decoding: line.prefix(200), as: UTF8.self))") }
        return Case(tokenizer: tokenizer, kept: kept)
    }
}()

/// The function that libFuzzer calls with each input: 255, a tokenizer.json, 0 and a text; or the number of a tokenizer
/// and a text.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let input = UnsafeBufferPointer(start: data, count: size)
    guard let kind = input.first else { return 0 }
    if kind == 255 {
        let parts = input.dropFirst().split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        read(Array(parts[0]), parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : "Hello na\u{308}ve 12 !")
    } else {
        encode(String(decoding: input.dropFirst(), as: UTF8.self), cases[Int(kind) % cases.count])
    }
    return 0
}

/// A file is refused with a message of a bounded length, or gives the same ids each time it is read.
private func read(_ json: [UInt8], _ text: String) {
    do throws(TokenizerProblem) {
        let tokenizer = try Tokenizer(json: json)
        let first = outcome(tokenizer, text)
        check(first == outcome(try Tokenizer(json: json), text), "another reading has other ids")
    } catch {
        check(!error.message.isEmpty && error.message.utf8.count < 2_000, "message: \(error.message)")
    }
}

/// The ids of the fixtures that keep something are the bytes of the text, with `|` after each piece.
private func encode(_ text: String, _ one: Case) {
    guard let ids = outcome(one.tokenizer, text) else { return }
    check(ids == outcome(one.tokenizer, text), "other ids the second time")
    // The mark after the only piece.
    let bytes = ids.dropLast().map { UInt8(truncatingIfNeeded: $0) }
    let result = String(decoding: bytes, as: UTF8.self)
    switch one.kept {
    case .everyByte:
        var left = text.utf8[...]
        for id in ids {
            if left.first.map(UInt32.init) == id { left = left.dropFirst() } else { check(id == 0x7C, "byte \(id)") }
        }
        check(left.isEmpty, "lost \(String(describing: String(left)))")
    case .equivalence:
        // Strings of the standard library are equal if they are canonically equivalent.
        check(result == text, "not equivalent: \(result.unicodeScalars.map(\.value))")
        check(outcome(one.tokenizer, result) == ids, "another normal form the second time")
    case .secondTime: check(outcome(one.tokenizer, result) == ids, "changed again: \(result.debugDescription)")
    case .nothing: break
    }
}

/// The ids of a text, after checks that hold for any tokenizer; nil if it is refused.
private func outcome(_ tokenizer: Tokenizer, _ text: String) -> [UInt32]? {
    do throws(TokenizerProblem) {
        let whole = try tokenizer.encode(text, truncation: nil, padding: nil)
        check(whole.ids.count == whole.mask.count && whole.ids.count == whole.typeIDs.count, "counts differ")
        check(whole.ids.allSatisfy { $0 <= tokenizer.highestID }, "an id above \(tokenizer.highestID)")
        check(whole.mask.allSatisfy { $0 == 1 }, "a mask without padding")
        for isLeft in [false, true] {
            let limit = Truncation(maximumLength: 5, isLeft: isLeft)
            let padding = Padding(length: 8, isLeft: isLeft, id: 7)
            let cut = try tokenizer.encode(text, truncation: limit, padding: padding)
            check(cut.isTruncated == (cut.tokenCount < whole.ids.count), "\(cut.tokenCount) of \(whole.ids.count)")
            check(!cut.isTruncated || whole.ids.count > 5, "cut at \(cut.tokenCount) of \(whole.ids.count)")
            check(cut.ids.count == max(8, cut.tokenCount), "\(cut.ids.count) ids, \(cut.tokenCount) tokens")
        }
        _ = try tokenizer.encode(text)
        return whole.ids
    } catch {
        check(!error.message.isEmpty && error.message.utf8.count < 2_000, "message: \(error.message)")
        return nil
    }
}

/// Ends the process, so that libFuzzer keeps the input.
private func check(_ holds: Bool, _ message: @autoclosure () -> String) {
    if !holds { fatalError(message()) }
}
