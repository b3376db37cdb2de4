extension String {
    /// The text at the left of a column, with at least one space after it.
    package func left(_ width: Int) -> String { self + Self.gap(width - count) }

    /// The text at the right of a column, with at least one space before it.
    package func right(_ width: Int) -> String { Self.gap(width - count) + self }

    private static func gap(_ width: Int) -> String { String(repeating: " ", count: Swift.max(1, width)) }
}
