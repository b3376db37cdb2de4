/// Shortens OpenVINO's messages, which have many lines: the source files that threw, the operation, the reason, and a
/// summary. The user needs the reason first.
package enum EngineMessage {
    /// Prefixes of lines that state the location in the engine.
    private static let frames = [
        "Exception from ", "Check '", "[ GENERAL_ERROR ]", "FrontEnd API failed", "Model wasn't fully converted",
        "Shape inference input shapes",
    ]
    private static let maximum = 400

    /// One line: the reason, then the operator that it concerns. The text around the reason is shortened first; the
    /// reason only if it is too long itself.
    package static func summary(of message: String) -> String {
        let lines = message.split(whereSeparator: \.isNewline).map { $0.drop { $0 == " " || $0 == "\t" } }
        let all = lines.filter { !$0.isEmpty }
        let end = all.firstIndex(of: "Summary:") ?? all.endIndex
        var (reason, place): (Substring?, String?) = (nil, nil)
        for line in all[..<end] {
            if line.hasPrefix("-- "), line.hasSuffix(" with a message:") {
                place = String(line.dropFirst(3).dropLast(" with a message:".count))
            } else if line.hasPrefix("While validating node '") {
                place = String(line.dropFirst("While validating ".count))
            } else if let rest = line.hasPrefix("While validating") ? afterQuote(line) : line, !isFrame(rest) {
                reason = rest
            }
        }
        // The summary only names operators: it is the reason if no other is given.
        let rest = all[end...].dropFirst()
        // Advice on extending the engine may follow.
        let summary = rest.last { $0.hasPrefix("-- ") }?.dropFirst(3) ?? rest.last
        // Operators that the engine lacks take precedence: the file cannot run, regardless of other failures.
        if let missing = rest.first(where: { $0.hasPrefix("-- No conversion rule found") }) {
            (reason, place) = (missing.dropFirst(3), nil)
        }
        let text = String(reason ?? summary ?? all.last ?? "")
        guard text.count < maximum else { return text.prefix(maximum) + "..." }
        guard let place = place?.trimmingColon, reason != nil else { return text }
        let room = max(80, maximum - text.count)
        return "\(text) (\(place.count > room ? place.prefix(room) + "..." : Substring(place)))"
    }

    private static func isFrame(_ line: Substring) -> Bool { frames.contains { line.hasPrefix($0) } }

    /// The text after the name of a node; nil if no name precedes it.
    private static func afterQuote(_ line: Substring) -> Substring? {
        var rest = line
        while let quote = rest.firstIndex(of: "'") {
            rest = rest[rest.index(after: quote)...]
            if rest.hasPrefix(": "), rest.count > 2 { return rest.dropFirst(2) }
        }
        return nil
    }
}

extension String {
    fileprivate var trimmingColon: String { hasSuffix(":") ? String(dropLast()) : self }
}
