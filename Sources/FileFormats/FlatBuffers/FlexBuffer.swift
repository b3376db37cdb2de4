/// Reads the numbers of a FlexBuffer's map (the format's specification), which holds the options of TensorFlow Lite's
/// custom operators. Every read is checked; a value that is not a number, or is outside the bytes, counts as missing.
package struct FlexBuffer {
    private let bytes: [UInt8]
    /// The numbers of the map by key.
    package private(set) var numbers: [String: Double] = [:]

    /// Nil if the bytes are not a map.
    package init?(_ bytes: ArraySlice<UInt8>) {
        self.bytes = Array(bytes)
        guard let width = self.bytes.last, self.bytes.count >= 3 else { return nil }
        let kind = self.bytes[self.bytes.count - 2]
        let root = self.bytes.count - 2 - Int(width)
        guard [1, 2, 4, 8].contains(width), kind >> 2 == Kind.map.rawValue, root >= 0,
            let offset = unsigned(root, Int(width)), offset <= root
        else { return nil }
        readMap(root - offset, width: 1 << Int(kind & 3))
    }

    private enum Kind: UInt8 {
        case integer = 1
        case unsigned = 2
        case float = 3
        case map = 9
        case bool = 26
    }

    private func bits(_ place: Int, _ width: Int) -> UInt64? {
        guard place >= 0, place <= bytes.count - width else { return nil }
        return (0..<width).reduce(UInt64(0)) { $0 | UInt64(bytes[place + $1]) << (8 * UInt64($1)) }
    }

    /// Reads a count or a distance.
    private func unsigned(_ place: Int, _ width: Int) -> Int? { bits(place, width).flatMap { Int(exactly: $0) } }

    /// A map is a vector of values; before it are the offset of its vector of keys and the width of their offsets.
    private mutating func readMap(_ start: Int, width: Int) {
        guard let count = unsigned(start - width, width), count <= 256,
            let keyWidth = unsigned(start - 2 * width, width), [1, 2, 4, 8].contains(keyWidth),
            let distance = unsigned(start - 3 * width, width), distance <= start - 3 * width
        else { return }
        let keys = start - 3 * width - distance
        for index in 0..<count {
            let place = keys + index * keyWidth
            guard let back = unsigned(place, keyWidth), back <= place else { return }
            let name = bytes[(place - back)...].prefix { $0 != 0 }
            let kind = start + count * width + index
            guard kind < bytes.count, name.count <= 256 else { return }
            numbers[String(decoding: name, as: UTF8.self)] = number(
                start + index * width, width: width, kind: bytes[kind])
        }
    }

    private func number(_ place: Int, width: Int, kind: UInt8) -> Double? {
        guard let bits = bits(place, width) else { return nil }
        switch Kind(rawValue: kind >> 2) {
        case .unsigned?, .bool?: return Double(bits)
        case .integer?:
            let unused = UInt64(64 - 8 * width)
            return Double(Int64(bitPattern: bits << unused) >> Int64(unused))
        case .float?:
            return width == 4 ? Double(Float(bitPattern: UInt32(bits))) : width == 8 ? Double(bitPattern: bits) : nil
        case .map?, nil: return nil
        }
    }
}
