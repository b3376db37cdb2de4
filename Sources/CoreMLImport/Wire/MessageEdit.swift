internal import FileFormats

/// Changes fields of a message and keeps all other bytes, including unknown fields and the order of fields.
struct MessageEdit {
    private let bytes: Bytes
    private let fields: [Place]
    private var changes: [Int: [UInt8]] = [:]
    private var appended: [UInt8] = []

    private struct Place {
        let number: Int
        /// The range of the key and the value.
        let whole: Range<Int>
        /// The range of a length-delimited value; nil for varints and numbers of fixed length.
        let content: Range<Int>?
    }

    init(_ bytes: Bytes) throws(Problem) {
        self.bytes = bytes
        var fields: [Place] = []
        var position = 0
        while position < bytes.count {
            let start = position
            let found = bytes.withUnsafeBytes {
                ProtobufField.read(UnsafeRawBufferPointer(rebasing: $0[start...]), at: start, end: $0.count)
            }
            switch found {
            case .failure(let error): throw Problem(error.reason)
            case .success(let field):
                var content: Range<Int>?
                if case .bytes(let range) = field.value { content = range }
                fields.append(Place(number: field.number, whole: start..<field.end, content: content))
                position = field.end
            }
        }
        self.fields = fields
    }

    /// Replaces the content of the last field with a number, which is the one that readers use.
    mutating func change(_ number: Int, _ edit: (Bytes) throws(Problem) -> [UInt8]) throws(Problem) {
        guard let index = fields.lastIndex(where: { $0.number == number }) else {
            throw Problem("field \(number) is missing")
        }
        try change(at: index, edit)
    }

    /// Replaces the content of one of several fields with a number, by its index from 0.
    mutating func change(_ number: Int, occurrence: Int, _ edit: (Bytes) throws(Problem) -> [UInt8]) throws(Problem) {
        let places = fields.indices.filter { fields[$0].number == number }
        guard places.indices.contains(occurrence) else { throw Problem("field \(number) is missing") }
        try change(at: places[occurrence], edit)
    }

    private mutating func change(at index: Int, _ edit: (Bytes) throws(Problem) -> [UInt8]) throws(Problem) {
        let place = fields[index]
        guard let content = place.content, let old = bytes[content] else {
            throw Problem("damaged: field \(place.number) has another wire type")
        }
        changes[index] = ProtobufWriter.field(place.number, try edit(old))
    }

    /// Replaces all fields with these numbers by `field`, in the position of the first one, or at the end if there was
    /// no such field.
    mutating func replace(_ numbers: Set<Int>, with field: [UInt8]) {
        let places = fields.indices.filter { numbers.contains(fields[$0].number) }
        for place in places { changes[place] = [] }
        if let first = places.first { changes[first] = field } else { append(field) }
    }

    /// Appends encoded fields.
    mutating func append(_ field: [UInt8]) { appended += field }

    func has(_ number: Int) -> Bool { fields.contains { $0.number == number } }

    /// The content of the last field with a number.
    func content(_ number: Int) -> Bytes? {
        fields.last { $0.number == number }?.content.flatMap { bytes[$0] }
    }

    /// The encoded fields with these numbers, concatenated.
    func raw(_ numbers: Set<Int>, maximum: Int = .max) -> [UInt8] {
        var result: [UInt8] = []
        for place in fields.filter({ numbers.contains($0.number) }).prefix(maximum) { result += copy(place.whole) }
        return result
    }

    private func copy(_ range: Range<Int>) -> [UInt8] { bytes[range]?.elements() ?? [] }

    var result: [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + appended.count)
        var start = 0
        for index in changes.keys.sorted() {
            let place = fields[index].whole
            result += copy(start..<place.lowerBound)
            result += changes[index] ?? []
            start = place.upperBound
        }
        return result + copy(start..<bytes.count) + appended
    }
}
