extension String {
    /// The text without the mark that some editors and spreadsheets put before UTF-8 text.
    package var withoutByteOrderMark: String {
        unicodeScalars.first == "\u{FEFF}" ? String(unicodeScalars.dropFirst()) : self
    }
}
