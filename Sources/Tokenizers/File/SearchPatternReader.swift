extension SearchPattern {
    /// Reads `{"String": …}` or `{"Regex": …}`.
    init(_ members: PartMembers, _ table: CharacterTable) throws(TokenizerProblem) {
        if let text = try members.optionalString("String") {
            guard !text.isEmpty else { throw members.problem("String", "expected a text, found an empty one") }
            self = .text(Array(text.unicodeScalars))
        } else {
            do throws(TokenizerProblem) {
                self = .expression(try PatternProgram(try members.string("Regex"), table))
            } catch {
                throw error.located(members.path)
            }
        }
    }
}
