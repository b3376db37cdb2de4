internal import SystemSupport
internal import WireFormats

/// The first lines of a client, without marks of comments.
struct ClientHeader {
    /// The beginning of the first line of every client.
    static let mark = "Made by ocelli client"

    private let plan: ClientPlan

    init(_ plan: ClientPlan) { self.plan = plan }

    var lines: [String] {
        let model = plan.model
        var lines = [
            "\(Self.mark) (Ocelli \(OcelliVersion.number)): do not edit, make it again when the model changes.", "",
            "The model \(ClientNames.comment(model.name))"
                + (model.version.isEmpty ? "" : ", version \(ClientNames.comment(model.version))") + ".",
        ]
        for (title, text) in [("", model.details), ("Author: ", model.author), ("License: ", model.license)]
        where !text.isEmpty {
            lines.append(title + ClientNames.comment(text))
        }
        return lines
    }
}
