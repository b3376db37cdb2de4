/// Reads one property from XMP: `tiff:Orientation`, as an attribute or an element.
enum XMP {
    /// The value of the first `tiff:Orientation="N"` or `<tiff:Orientation>N` with a digit N: 1 to 8; 1 for another
    /// digit; nil if it is missing. This is a text search, as in Pillow, because programs that do not know XMP often
    /// cut or damage packets.
    static func orientation(_ packet: ByteReader) -> Int? {
        let name: StaticString = "tiff:Orientation"
        var offset = 0
        while let found = packet.next(UInt8(ascii: "t"), from: offset) {
            offset = found + 1
            guard packet.has(name, at: found) else { continue }
            let end = found + name.utf8CodeUnitCount
            let digit = packet.has("=\"", at: end) ? end + 2 : packet.has(">", at: end) ? end + 1 : nil
            guard let digit, let byte = packet.byte(digit), (0x30...0x39).contains(byte) else { continue }
            let value = Int(byte) - 0x30
            return (1...8).contains(value) ? value : 1
        }
        return nil
    }
}
