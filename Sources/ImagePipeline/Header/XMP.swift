/// The one property that is needed of XMP: `tiff:Orientation`, as an attribute or an element.
enum XMP {
    /// Of the first `tiff:Orientation="N"` or `<tiff:Orientation>N`, where N is a digit, 1 to 8; 1 where it is another
    /// digit; nil if there is none. A search, as Pillow does it: packets are often cut or damaged by programs that do
    /// not know XMP.
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
