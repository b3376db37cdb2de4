/// Converts external text to a form that a terminal can show: characters that control the terminal or are invisible are
/// written by number.
package enum PrintableText {
    /// False for control characters, direction marks, line separators, characters without width, and undefined
    /// characters.
    package static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20..<0x7F).contains(scalar.value) { return true }
        let properties = scalar.properties
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: !properties.isDefaultIgnorableCodePoint || properties.isVariationSelector
        }
    }

    /// The text with other characters in the form `\u{202E}`.
    /// - Parameter keepsLines: true if line feeds and tabs stay; names and labels have none.
    package static func text(_ text: String, keepsLines: Bool = false) -> String {
        escaped(text, keepsLines) { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
    }

    /// JSON text with other characters in the form `\u202E`, which is equivalent JSON. Line feeds and tabs stay.
    package static func json(_ text: String) -> String {
        escaped(text, true) { scalar in
            UTF16.encode(scalar).map { unit in
                unit.map { "\\u" + String(0x1_0000 | UInt32($0), radix: 16).dropFirst() }.joined()
            } ?? ""
        }
    }

    private static func escaped(
        _ text: String, _ keepsLines: Bool, _ escape: (Unicode.Scalar) -> String
    ) -> String {
        // Text is nearly always printable ASCII, for which many bytes are compared at once.
        guard text.utf8.contains(where: { $0 &- 0x20 >= 0x5F }) else { return text }
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isPrintable(scalar) || keepsLines && (scalar == "\n" || scalar == "\t") {
                shown.append(scalar)
            } else {
                shown.append(contentsOf: escape(scalar).unicodeScalars)
            }
        }
        return String(shown)
    }
}
