/// The mark that some editors and spreadsheets put before UTF-8 text.
package enum ByteOrderMark {
    /// Its bytes at the start of a text: 3, or 0 without one.
    package static func length(in text: some Collection<UInt8>) -> Int {
        text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }
}

extension String {
    /// The text without the mark that some editors and spreadsheets put before UTF-8 text.
    package var withoutByteOrderMark: String {
        unicodeScalars.first == "\u{FEFF}" ? String(unicodeScalars.dropFirst()) : self
    }
}
