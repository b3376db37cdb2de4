extension [String] {
    /// The names in quotes, separated by commas; after the first ten only the number of the others.
    package var listed: String {
        let shown = prefix(10).map { "\"\($0)\"" }.joined(separator: ", ")
        return count > 10 ? "\(shown) and \(count - 10) more" : shown
    }
}
