package import SystemSupport

/// The sentence for a status that ends a pull, with the remedy.
package enum HubRefusal {
    /// - Parameters:
    ///   - name: the repository with its file, or the address.
    ///   - page: the repository's page; nil for the address of a file.
    package static func error(
        _ answer: HubAnswer, name: String, revision: String?, page: WebAddress?, access: HubAccess
    ) -> CommandError {
        let words = answer["x-error-message"].map { ": " + access.hidingSecrets(String($0.prefix(300))) } ?? ""
        let token =
            access.sendsToken ? "the token of HF_TOKEN may not read it" : "set HF_TOKEN to a token that may read it"
        // The hub answers 401 for repositories that do not exist, too, so that no one learns which ones are private.
        let code = answer["x-error-code"] ?? (answer.status == 401 && page != nil ? "RepoNotFound" : nil)
        switch (code, answer.status) {
        case ("GatedRepo"?, _):
            return CommandError(
                "\(name) is gated: accept its terms on \(page?.shown ?? "its page"), and "
                    + (access.sendsToken
                        ? "use a token of that account in HF_TOKEN" : "set HF_TOKEN to a token of that account") + words
            )
        case ("RevisionNotFound"?, _):
            return CommandError("\(name) has no revision \"\(revision ?? "")\"\(words)")
        case ("EntryNotFound"?, _): return CommandError("\(name) is not there, although the hub lists it\(words)")
        case ("RepoNotFound"?, _):
            return CommandError(
                "\(name) does not exist, or is private: check the name, and \(token) (status \(answer.status))\(words)")
        case (_, 401), (_, 403):
            return CommandError("\(name) is refused with status \(answer.status): \(token)\(words)")
        case (_, 404), (_, 410): return CommandError("\(name) does not exist (status \(answer.status))\(words)")
        default: return CommandError("\(name): the server answers with status \(answer.status)\(words)")
        }
    }
}
