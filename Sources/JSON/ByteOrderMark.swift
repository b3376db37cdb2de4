/// The byte order mark that some editors and spreadsheets put before UTF-8 text.
package enum ByteOrderMark {
    /// The length of the mark at the start of a text: 3, or 0 if it has no mark.
    package static func length(in text: some Collection<UInt8>) -> Int {
        text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }
}

extension String {
    /// The text without a byte order mark.
    package var withoutByteOrderMark: String {
        unicodeScalars.first == "\u{FEFF}" ? String(unicodeScalars.dropFirst()) : self
    }
}
