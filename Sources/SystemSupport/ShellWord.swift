/// Words of commands that a person copies into a shell.
package enum ShellWord {
    /// The text as one word: in single quotes if a shell would read it as something else.
    package static func quoted(_ text: String) -> String {
        let plain = Set("_./-+:=@%,".utf8)
        let isPlain = text.utf8.allSatisfy { byte in
            byte >= 0x80 || plain.contains(byte) || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
        }
        guard !isPlain || text.isEmpty else { return text }
        return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
