internal import FileFormats

/// The bytes of a file while it is read. Counts what is kept: a file with more is too large for a slow evaluation.
final class WireText {
    let source: ByteSource
    /// The numbers and names that were read.
    private(set) var count = 0
    /// The most numbers and names: reading them takes about half a second.
    private static let maximum = 4_000_000

    init(_ source: ByteSource) { self.source = source }

    func keep(_ more: Int) throws(ImpossibleJudgment) {
        let (sum, overflow) = count.addingReportingOverflow(more)
        guard !overflow, sum <= Self.maximum else {
            throw ImpossibleJudgment("it has more than \(Self.maximum) numbers, too many for the slow evaluation")
        }
        count = sum
    }
}

/// A message of protocol buffers in the file, of which nothing is kept.
struct WireMessage {
    let text: WireText
    let range: Range<Int>

    /// Calls `body` with each field in order.
    func fields(_ body: (WireField) throws(ImpossibleJudgment) -> Void) throws(ImpossibleJudgment) {
        var walk = ProtobufWalk(text.source, range)
        while true {
            let field: ProtobufField?
            do throws(FormatError) {
                field = try walk.next()
            } catch {
                throw ImpossibleJudgment("the file \(error.reason)")
            }
            guard let field else { return }
            try body(WireField(text: text, number: field.number, value: field.value))
        }
    }

    /// The last field of a number, which replaces earlier ones; nil if the message has none.
    func last(_ number: Int) throws(ImpossibleJudgment) -> WireField? {
        var found: WireField?
        try fields { (field) throws(ImpossibleJudgment) in if field.number == number { found = field } }
        return found
    }
}

/// A field of a message.
struct WireField {
    let text: WireText
    let number: Int
    let value: ProtobufField.Value

    func integer() throws(ImpossibleJudgment) -> Int64 {
        guard case .varint(let bits) = value else { throw mistake }
        return Int64(bitPattern: bits)
    }

    func double() throws(ImpossibleJudgment) -> Double {
        guard case .fixed64(let range) = value else { throw mistake }
        return Double(bitPattern: try bits(range.lowerBound, UInt64.self))
    }

    func message() throws(ImpossibleJudgment) -> WireMessage { WireMessage(text: text, range: try range()) }

    /// The bytes of a string, which are UTF-8.
    func bytes() throws(ImpossibleJudgment) -> [UInt8] {
        let range = try range()
        try text.keep(1)
        let bytes: ArraySlice<UInt8>
        do throws(FormatError) {
            bytes = try text.source.bytes(at: range.lowerBound, count: range.count)
        } catch {
            throw ImpossibleJudgment("the file \(error.reason)")
        }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw ImpossibleJudgment("the file has a string at byte \(range.lowerBound) that is not UTF-8")
        }
        return Array(bytes)
    }

    func string() throws(ImpossibleJudgment) -> String { String(decoding: try bytes(), as: UTF8.self) }

    // MARK: Lists of numbers, packed or one by one

    func append(to list: inout [Double]) throws(ImpossibleJudgment) {
        if case .fixed64 = value {
            try text.keep(1)
            return list.append(try double())
        }
        try packed(UInt64.self) { list.append(Double(bitPattern: $0)) }
    }

    func append(to list: inout [Float]) throws(ImpossibleJudgment) {
        if case .fixed32(let range) = value {
            try text.keep(1)
            return list.append(Float(bitPattern: try bits(range.lowerBound, UInt32.self)))
        }
        try packed(UInt32.self) { list.append(Float(bitPattern: $0)) }
    }

    func append(to list: inout [Int64]) throws(ImpossibleJudgment) {
        if case .varint(let bits) = value {
            try text.keep(1)
            return list.append(Int64(bitPattern: bits))
        }
        let range = try range()
        var place = range.lowerBound
        while place < range.upperBound {
            try text.keep(1)
            let head: ArraySlice<UInt8>
            do throws(FormatError) {
                head = try text.source.bytes(at: place, count: min(10, range.upperBound - place))
            } catch {
                throw ImpossibleJudgment("the file \(error.reason)")
            }
            guard let (number, length) = head.withUnsafeBytes({ ProtobufField.varint($0, at: 0) }) else {
                throw ImpossibleJudgment("the file is damaged or cut off: the number at byte \(place) does not end")
            }
            list.append(Int64(bitPattern: number))
            place += length
        }
    }

    private func packed<T: FixedWidthInteger>(
        _: T.Type, _ body: (T) -> Void
    ) throws(ImpossibleJudgment) {
        let range = try range(), width = MemoryLayout<T>.size
        guard range.count % width == 0 else { throw mistake }
        try text.keep(range.count / width)
        var place = range.lowerBound
        while place < range.upperBound {
            let count = min(1 << 15, range.upperBound - place)
            do throws(FormatError) {
                try text.source.bytes(at: place, count: count).withUnsafeBytes { raw in
                    for offset in stride(from: 0, to: raw.count, by: width) {
                        body(T(littleEndian: raw.loadUnaligned(fromByteOffset: offset, as: T.self)))
                    }
                }
            } catch {
                throw ImpossibleJudgment("the file \(error.reason)")
            }
            place += count
        }
    }

    private func bits<T: FixedWidthInteger>(_ place: Int, _ type: T.Type) throws(ImpossibleJudgment) -> T {
        do throws(FormatError) {
            return try text.source.integer(type, at: place)
        } catch {
            throw ImpossibleJudgment("the file \(error.reason)")
        }
    }

    private func range() throws(ImpossibleJudgment) -> Range<Int> {
        guard case .bytes(let range) = value else { throw mistake }
        return range
    }

    private var mistake: ImpossibleJudgment {
        ImpossibleJudgment("field \(number) of the file has another type than the format says")
    }
}
