import FileFormats

extension RefereeFile {
    /// The bytes of all fields that a path of field numbers leads to, from the message of the file.
    func ranges(_ path: [Int]) throws -> [Range<Int>] {
        var ranges = [0..<bytes.count]
        for number in path {
            var inner: [Range<Int>] = []
            for range in ranges {
                var walk = ProtobufWalk(ByteSource(bytes), range)
                while let field = try walk.next() {
                    guard field.number == number else { continue }
                    switch field.value {
                    case .bytes(let range), .fixed64(let range), .fixed32(let range): inner.append(range)
                    case .varint: inner.append(field.end - 1..<field.end)
                    }
                }
            }
            ranges = inner
        }
        return ranges
    }

    /// The places of all numbers that a path leads to, packed or one by one.
    func places(_ path: [Int], width: Int) throws -> [Int] {
        try ranges(path).flatMap { Array(stride(from: $0.lowerBound, to: $0.upperBound, by: width)) }
    }

    /// The file with another number.
    func replacing<T: BitwiseCopyable>(at place: Int, _ change: (T) -> T) -> [UInt8] {
        var bytes = bytes
        bytes.withUnsafeMutableBytes { raw in
            let value = raw.loadUnaligned(fromByteOffset: place, as: T.self)
            raw.storeBytes(of: change(value), toByteOffset: place, as: T.self)
        }
        return bytes
    }
}
