internal import JSON

/// The first members of a line of answers, before those of the route.
struct AnswerHead: Sendable {
    /// The name of the picture.
    let file: String
    /// The digest of the picture's bytes; nil if they are not known.
    var digest: String?
    /// The identifier of the model and settings; nil if lines are not compared later.
    var run: String?

    func write(to writer: inout JSONWriter) {
        writer.member("file", file)
        if let digest { writer.member("digest", digest) }
        if let run { writer.member("run", run) }
    }
}
