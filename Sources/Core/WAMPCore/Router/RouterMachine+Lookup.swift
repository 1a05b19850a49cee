extension RouterMachine {
    /// The subscription and the registration of this URI or pattern in a realm, as far as there are any.
    package func ids(of uri: String, _ match: WAMPMatch, in realm: String) -> [WAMPID] {
        guard let place = places[realm], let realm = realms[place] else { return [] }
        return [realm.broker.index[uri, match], realm.dealer.procedures[uri, match]].compactMap(\.self)
    }

    /// Of what a subscription is.
    package func topic(ofSubscription id: WAMPID, in realm: String) -> (uri: String, match: WAMPMatch)? {
        guard let place = places[realm], let found = realms[place]?.broker.subscriptions[id] else { return nil }
        return (found.uri, found.match)
    }
}
