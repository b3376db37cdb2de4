internal import JSON

/// The members that a line of answers begins with, before the route's own.
struct AnswerHead: Sendable {
    /// The picture's name.
    let file: String
    /// Of the picture's bytes; nil where they are not known.
    var digest: String?
    /// The model and the settings that answer; nil where nobody compares them later.
    var run: String?

    func write(to writer: inout JSONWriter) {
        writer.member("file", file)
        if let digest { writer.member("digest", digest) }
        if let run { writer.member("run", run) }
    }
}
