import Testing
import WAMPCore

/// A message as Autobahn|Python 26.10.2 encodes it, in all three serializations.
///
/// The vectors are the examples of the specification and some more.
struct WAMPVector: CustomTestStringConvertible {
    let name: String
    let json: String
    let messagePack: String
    let cbor: String

    var testDescription: String { name }

    func bytes(_ serialization: WAMPSerialization) -> [UInt8] {
        switch serialization {
        case .json: Array(json.utf8)
        case .messagePack: wampBytes(messagePack)
        case .cbor: wampBytes(cbor)
        }
    }
}

extension WAMPVector {
    static let all = sessions + events + calls

    static let sessions: [WAMPVector] = [
        WAMPVector(
            name: "hello",
            json: #"""
                [1,"somerealm",{"roles":{"subscriber":{"features":{"publisher_identification":true,"pattern_based_su\#
                bscription":true}},"caller":{"features":{"call_timeout":true}}},"authmethods":["ticket","wampcra"],"\#
                authid":"peter"}]
                """#,
            messagePack: #"""
                9301a9736f6d657265616c6d83a5726f6c657382aa7375627363726962657281a8666561747572657382b87075626c697368\#
                65725f6964656e74696669636174696f6ec3ba7061747465726e5f62617365645f737562736372697074696f6ec3a663616c\#
                6c657281a8666561747572657381ac63616c6c5f74696d656f7574c3ab617574686d6574686f647392a67469636b6574a777\#
                616d70637261a6617574686964a57065746572
                """#,
            cbor: #"""
                830169736f6d657265616c6da365726f6c6573a26a73756273637269626572a1686665617475726573a278187075626c6973\#
                6865725f6964656e74696669636174696f6ef5781a7061747465726e5f62617365645f737562736372697074696f6ef56663\#
                616c6c6572a1686665617475726573a16c63616c6c5f74696d656f7574f56b617574686d6574686f647382667469636b6574\#
                6777616d7063726166617574686964657065746572
                """#),
        WAMPVector(
            name: "welcome",
            json: #"""
                [2,9129137332,{"realm":"somerealm","authid":"peter","authrole":"user","authmethod":"ticket","roles":\#
                {"broker":{"features":{"publisher_identification":true,"event_retention":true}},"dealer":{"features"\#
                :{"call_canceling":true,"progressive_call_results":true}}}}]
                """#,
            messagePack: #"""
                9302cf00000002202394b485a57265616c6da9736f6d657265616c6da6617574686964a57065746572a861757468726f6c65\#
                a475736572aa617574686d6574686f64a67469636b6574a5726f6c657382a662726f6b657281a8666561747572657382b870\#
                75626c69736865725f6964656e74696669636174696f6ec3af6576656e745f726574656e74696f6ec3a66465616c657281a8\#
                666561747572657382ae63616c6c5f63616e63656c696e67c3b870726f67726573736976655f63616c6c5f726573756c7473\#
                c3
                """#,
            cbor: #"""
                83021b00000002202394b4a5657265616c6d69736f6d657265616c6d666175746869646570657465726861757468726f6c65\#
                64757365726a617574686d6574686f64667469636b657465726f6c6573a26662726f6b6572a1686665617475726573a27818\#
                7075626c69736865725f6964656e74696669636174696f6ef56f6576656e745f726574656e74696f6ef5666465616c6572a1\#
                686665617475726573a26e63616c6c5f63616e63656c696e67f5781870726f67726573736976655f63616c6c5f726573756c\#
                7473f5
                """#),
        WAMPVector(
            name: "abort",
            json: #"[3,{"message":"The realm does not exist."},"wamp.error.no_such_realm"]"#,
            messagePack: #"""
                930381a76d657373616765b9546865207265616c6d20646f6573206e6f742065786973742eb877616d702e6572726f722e6e\#
                6f5f737563685f7265616c6d
                """#,
            cbor: #"""
                8303a1676d6573736167657819546865207265616c6d20646f6573206e6f742065786973742e781877616d702e6572726f72\#
                2e6e6f5f737563685f7265616c6d
                """#),
        WAMPVector(
            name: "challenge",
            json: #"[4,"wampcra",{"challenge":"{\"nonce\": \"a\"}","salt":"s","iterations":1000,"keylen":32}]"#,
            messagePack: #"""
                9304a777616d7063726184a96368616c6c656e6765ae7b226e6f6e6365223a202261227da473616c74a173aa697465726174\#
                696f6e73cd03e8a66b65796c656e20
                """#,
            cbor: #"""
                83046777616d70637261a4696368616c6c656e67656e7b226e6f6e6365223a202261227d6473616c7461736a697465726174\#
                696f6e731903e8666b65796c656e1820
                """#),
        WAMPVector(
            name: "authenticate",
            json: #"[5,"gir1mSx+deCDUV7wRM5SGIn/+R/ClqLZuH4m7FJeBVI=",{}]"#,
            messagePack: #"9305d92c676972316d53782b6465434455563777524d355347496e2f2b522f436c714c5a7548346d37464a654256493d80"#,
            cbor: #"8305782c676972316d53782b6465434455563777524d355347496e2f2b522f436c714c5a7548346d37464a654256493da0"#),
        WAMPVector(
            name: "goodbye",
            json: #"[6,{"message":"The host is shutting down now."},"wamp.close.system_shutdown"]"#,
            messagePack: #"""
                930681a76d657373616765be54686520686f7374206973207368757474696e6720646f776e206e6f772eba77616d702e636c\#
                6f73652e73797374656d5f73687574646f776e
                """#,
            cbor: #"""
                8306a1676d657373616765781e54686520686f7374206973207368757474696e6720646f776e206e6f772e781a77616d702e\#
                636c6f73652e73797374656d5f73687574646f776e
                """#),
        WAMPVector(
            name: "goodbye reply",
            json: #"[6,{},"wamp.close.goodbye_and_out"]"#,
            messagePack: #"930680ba77616d702e636c6f73652e676f6f646279655f616e645f6f7574"#,
            cbor: #"8306a0781a77616d702e636c6f73652e676f6f646279655f616e645f6f7574"#),
    ]

    static let events: [WAMPVector] = [
        WAMPVector(
            name: "subscribe",
            json: #"[32,713845233,{},"com.myapp.mytopic1"]"#,
            messagePack: #"9420ce2a8c69f180b2636f6d2e6d796170702e6d79746f70696331"#,
            cbor: #"8418201a2a8c69f1a072636f6d2e6d796170702e6d79746f70696331"#),
        WAMPVector(
            name: "subscribe to a prefix",
            json: #"[32,2,{"match":"prefix","get_retained":true},"com.myapp."]"#,
            messagePack: #"94200282a56d61746368a6707265666978ac6765745f72657461696e6564c3aa636f6d2e6d796170702e"#,
            cbor: #"84182002a2656d61746368667072656669786c6765745f72657461696e6564f56a636f6d2e6d796170702e"#),
        WAMPVector(
            name: "subscribed",
            json: #"[33,713845233,5512315355]"#,
            messagePack: #"9321ce2a8c69f1cf00000001488f41db"#,
            cbor: #"8318211a2a8c69f11b00000001488f41db"#),
        WAMPVector(
            name: "unsubscribe",
            json: #"[34,85346237,5512315355]"#,
            messagePack: #"9322ce051647bdcf00000001488f41db"#,
            cbor: #"8318221a051647bd1b00000001488f41db"#),
        WAMPVector(
            name: "unsubscribed",
            json: #"[35,85346237]"#,
            messagePack: #"9223ce051647bd"#,
            cbor: #"8218231a051647bd"#),
        WAMPVector(
            name: "unsubscribed by the router",
            json: #"[35,0,{"reason":"wamp.error.revoked","subscription":5512315355}]"#,
            messagePack: #"""
                93230082a6726561736f6eb277616d702e6572726f722e7265766f6b6564ac737562736372697074696f6ecf00000001488f\#
                41db
                """#,
            cbor: #"""
                83182300a266726561736f6e7277616d702e6572726f722e7265766f6b65646c737562736372697074696f6e1b0000000148\#
                8f41db
                """#),
        WAMPVector(
            name: "publish",
            json: #"[16,239714735,{},"com.myapp.mytopic1"]"#,
            messagePack: #"9410ce0e49c1af80b2636f6d2e6d796170702e6d79746f70696331"#,
            cbor: #"84101a0e49c1afa072636f6d2e6d796170702e6d79746f70696331"#),
        WAMPVector(
            name: "publish with a list",
            json: #"[16,239714735,{"acknowledge":true},"com.myapp.mytopic1",["Hello, world!"]]"#,
            messagePack: #"""
                9510ce0e49c1af81ab61636b6e6f776c65646765c3b2636f6d2e6d796170702e6d79746f7069633191ad48656c6c6f2c2077\#
                6f726c6421
                """#,
            cbor: #"""
                85101a0e49c1afa16b61636b6e6f776c65646765f572636f6d2e6d796170702e6d79746f70696331816d48656c6c6f2c2077\#
                6f726c6421
                """#),
        WAMPVector(
            name: "publish with keywords",
            json: #"[16,239714735,{"exclude_me":false},"com.myapp.mytopic1",[],{"color":"orange","sizes":[23,42,7]}]"#,
            messagePack: #"""
                9610ce0e49c1af81aa6578636c7564655f6d65c2b2636f6d2e6d796170702e6d79746f706963319082a5636f6c6f72a66f72\#
                616e6765a573697a657393172a07
                """#,
            cbor: #"""
                86101a0e49c1afa16a6578636c7564655f6d65f472636f6d2e6d796170702e6d79746f7069633180a265636f6c6f72666f72\#
                616e67656573697a65738317182a07
                """#),
        WAMPVector(
            name: "published",
            json: #"[17,239714735,4429313566]"#,
            messagePack: #"9311ce0e49c1afcf000000010801f61e"#,
            cbor: #"83111a0e49c1af1b000000010801f61e"#),
        WAMPVector(
            name: "event",
            json: #"[36,5512315355,4429313566,{}]"#,
            messagePack: #"9424cf00000001488f41dbcf000000010801f61e80"#,
            cbor: #"8418241b00000001488f41db1b000000010801f61ea0"#),
        WAMPVector(
            name: "event with a list",
            json: #"[36,5512315355,9007199254740992,{},["Grüße 🎉\n\"\\",-1,0,1.1,null,true,-9007199254740991]]"#,
            messagePack: #"""
                9524cf00000001488f41dbcf00200000000000008097af4772c3bcc39f6520f09f8e890a225cff00cb3ff199999999999ac0\#
                c3d3ffe0000000000001
                """#,
            cbor: #"""
                8518241b00000001488f41db1b0020000000000000a0876f4772c3bcc39f6520f09f8e890a225c2000fb3ff199999999999a\#
                f6f53b001ffffffffffffe
                """#),
        WAMPVector(
            name: "event with bytes",
            json: #"""
                [36,5512315355,4429313566,{"publisher":3335656,"topic":"com.myapp.mytopic1"},["\u0000AAECAwQFBgcICQo\#
                LDA0ODxAREhM="]]
                """#,
            messagePack: #"""
                9524cf00000001488f41dbcf000000010801f61e82a97075626c6973686572ce0032e5e8a5746f706963b2636f6d2e6d7961\#
                70702e6d79746f7069633191c414000102030405060708090a0b0c0d0e0f10111213
                """#,
            cbor: #"""
                8518241b00000001488f41db1b000000010801f61ea2697075626c69736865721a0032e5e865746f70696372636f6d2e6d79\#
                6170702e6d79746f706963318154000102030405060708090a0b0c0d0e0f10111213
                """#),
    ]

    static let calls: [WAMPVector] = [
        WAMPVector(
            name: "call",
            json: #"[48,7814135,{},"com.myapp.ping"]"#,
            messagePack: #"9430ce00773bf780ae636f6d2e6d796170702e70696e67"#,
            cbor: #"8418301a00773bf7a06e636f6d2e6d796170702e70696e67"#),
        WAMPVector(
            name: "call with a list",
            json: #"[48,7814135,{"timeout":5000,"receive_progress":true},"com.myapp.add2",[23,7]]"#,
            messagePack: #"""
                9530ce00773bf782a774696d656f7574cd1388b0726563656976655f70726f6772657373c3ae636f6d2e6d796170702e6164\#
                6432921707
                """#,
            cbor: #"""
                8518301a00773bf7a26774696d656f757419138870726563656976655f70726f6772657373f56e636f6d2e6d796170702e61\#
                646432821707
                """#),
        WAMPVector(
            name: "call with keywords",
            json: #"[48,7814135,{},"com.myapp.user.new",["johnny"],{"firstname":"John","surname":"Doe"}]"#,
            messagePack: #"""
                9630ce00773bf780b2636f6d2e6d796170702e757365722e6e657791a66a6f686e6e7982a966697273746e616d65a44a6f68\#
                6ea77375726e616d65a3446f65
                """#,
            cbor: #"""
                8618301a00773bf7a072636f6d2e6d796170702e757365722e6e657781666a6f686e6e79a26966697273746e616d65644a6f\#
                686e677375726e616d6563446f65
                """#),
        WAMPVector(
            name: "cancel",
            json: #"[49,7814135,{"mode":"killnowait"}]"#,
            messagePack: #"9331ce00773bf781a46d6f6465aa6b696c6c6e6f77616974"#,
            cbor: #"8318311a00773bf7a1646d6f64656a6b696c6c6e6f77616974"#),
        WAMPVector(
            name: "result",
            json: #"[50,7814135,{}]"#,
            messagePack: #"9332ce00773bf780"#,
            cbor: #"8318321a00773bf7a0"#),
        WAMPVector(
            name: "result with keywords",
            json: #"[50,7814135,{},[],{"userid":123,"karma":10}]"#,
            messagePack: #"9532ce00773bf7809082a67573657269647ba56b61726d610a"#,
            cbor: #"8518321a00773bf7a080a266757365726964187b656b61726d610a"#),
        WAMPVector(
            name: "result in part",
            json: #"[50,7814135,{"progress":true},[30]]"#,
            messagePack: #"9432ce00773bf781a870726f6772657373c3911e"#,
            cbor: #"8418321a00773bf7a16870726f6772657373f581181e"#),
        WAMPVector(
            name: "error of a call",
            json: #"""
                [8,48,7814135,{},"com.myapp.error.object_write_protected",["Object is write protected."],{"severity"\#
                :3}]
                """#,
            messagePack: #"""
                970830ce00773bf780d926636f6d2e6d796170702e6572726f722e6f626a6563745f77726974655f70726f74656374656491\#
                ba4f626a6563742069732077726974652070726f7465637465642e81a8736576657269747903
                """#,
            cbor: #"""
                870818301a00773bf7a07826636f6d2e6d796170702e6572726f722e6f626a6563745f77726974655f70726f746563746564\#
                81781a4f626a6563742069732077726974652070726f7465637465642ea168736576657269747903
                """#),
        WAMPVector(
            name: "error of a subscription",
            json: #"[8,32,713845233,{},"wamp.error.not_authorized"]"#,
            messagePack: #"950820ce2a8c69f180b977616d702e6572726f722e6e6f745f617574686f72697a6564"#,
            cbor: #"850818201a2a8c69f1a0781977616d702e6572726f722e6e6f745f617574686f72697a6564"#),
        WAMPVector(
            name: "error of an invocation",
            json: #"[8,68,6131533,{},"com.myapp.error.invalid",["x"]]"#,
            messagePack: #"960844ce005d8f4d80b7636f6d2e6d796170702e6572726f722e696e76616c696491a178"#,
            cbor: #"860818441a005d8f4da077636f6d2e6d796170702e6572726f722e696e76616c6964816178"#),
        WAMPVector(
            name: "register",
            json: #"[64,25349185,{},"com.myapp.myprocedure1"]"#,
            messagePack: #"9440ce0182cc4180b6636f6d2e6d796170702e6d7970726f63656475726531"#,
            cbor: #"8418401a0182cc41a076636f6d2e6d796170702e6d7970726f63656475726531"#),
        WAMPVector(
            name: "register shared",
            json: #"[64,3,{"match":"wildcard","invoke":"roundrobin"},"com.myapp.myprocedure1"]"#,
            messagePack: #"""
                94400382a56d61746368a877696c6463617264a6696e766f6b65aa726f756e64726f62696eb6636f6d2e6d796170702e6d79\#
                70726f63656475726531
                """#,
            cbor: #"""
                84184003a2656d617463686877696c646361726466696e766f6b656a726f756e64726f62696e76636f6d2e6d796170702e6d\#
                7970726f63656475726531
                """#),
        WAMPVector(
            name: "registered",
            json: #"[65,25349185,2103333224]"#,
            messagePack: #"9341ce0182cc41ce7d5e5168"#,
            cbor: #"8318411a0182cc411a7d5e5168"#),
        WAMPVector(
            name: "unregister",
            json: #"[66,788923562,2103333224]"#,
            messagePack: #"9342ce2f0604aace7d5e5168"#,
            cbor: #"8318421a2f0604aa1a7d5e5168"#),
        WAMPVector(
            name: "unregistered",
            json: #"[67,788923562]"#,
            messagePack: #"9243ce2f0604aa"#,
            cbor: #"8218431a2f0604aa"#),
        WAMPVector(
            name: "unregistered by the router",
            json: #"[67,0,{"reason":"wamp.error.revoked","registration":2103333224}]"#,
            messagePack: #"93430082a6726561736f6eb277616d702e6572726f722e7265766f6b6564ac726567697374726174696f6ece7d5e5168"#,
            cbor: #"83184300a266726561736f6e7277616d702e6572726f722e7265766f6b65646c726567697374726174696f6e1a7d5e5168"#),
        WAMPVector(
            name: "invocation",
            json: #"[68,6131533,9823526,{}]"#,
            messagePack: #"9444ce005d8f4dce0095e52680"#,
            cbor: #"8418441a005d8f4d1a0095e526a0"#),
        WAMPVector(
            name: "invocation with a list",
            json: #"""
                [68,6131533,9823527,{"caller":7814135,"procedure":"com.myapp.user.new"},["johnny"],{"firstname":"Joh\#
                n"}]
                """#,
            messagePack: #"""
                9644ce005d8f4dce0095e52782a663616c6c6572ce00773bf7a970726f636564757265b2636f6d2e6d796170702e75736572\#
                2e6e657791a66a6f686e6e7981a966697273746e616d65a44a6f686e
                """#,
            cbor: #"""
                8618441a005d8f4d1a0095e527a26663616c6c65721a00773bf76970726f63656475726572636f6d2e6d796170702e757365\#
                722e6e657781666a6f686e6e79a16966697273746e616d65644a6f686e
                """#),
        WAMPVector(
            name: "interrupt",
            json: #"[69,6131533,{"mode":"kill"}]"#,
            messagePack: #"9345ce005d8f4d81a46d6f6465a46b696c6c"#,
            cbor: #"8318451a005d8f4da1646d6f6465646b696c6c"#),
        WAMPVector(
            name: "yield",
            json: #"[70,6131533,{}]"#,
            messagePack: #"9346ce005d8f4d80"#,
            cbor: #"8318461a005d8f4da0"#),
        WAMPVector(
            name: "yield in part",
            json: #"[70,6131533,{"progress":true},[{"a":[1,2,{}]}]]"#,
            messagePack: #"9446ce005d8f4d81a870726f6772657373c39181a16193010280"#,
            cbor: #"8418461a005d8f4da16870726f6772657373f581a16161830102a0"#),
    ]
}
