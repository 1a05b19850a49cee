#!/bin/bash
# Makes the certificates of the TLS matrix in a directory:
#
#   certificates.sh DIRECTORY
#
# root → between → ecdsa, rsa, old (expired), early (not valid yet), address; root → other, client; self (self-signed);
# stranger → strange. NAME.pem is a certificate, NAME-chain.pem is it with the intermediate, NAME.key is its key.
set -eEuo pipefail
cd "$1"
ec=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)

# authority NAME: a self-signed authority.
authority() { openssl req -x509 -days 3 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" "${ec[@]}"; }

# request NAME EXTENSION KEY-OPTION…
request() {
    local name=$1
    echo "$2" > "$name.ext"
    shift 2
    openssl req -new -subj "/CN=$name" -keyout "$name.key" -out "$name.csr" "$@"
}

# issue NAME ISSUER [OPTION…]: signs a request.
issue() {
    local name=$1 issuer=$2
    shift 2
    openssl ca -batch -notext -config ca.conf -in "$name.csr" -extfile "$name.ext" -cert "$issuer.pem" \
        -keyfile "$issuer.key" -out "$name.pem" "$@"
    if [ "$issuer" = between ]; then cat "$name.pem" between.pem > "$name-chain.pem"; fi
}

exec 3>&2 > log 2>&1
trap 'cat log >&3' ERR
printf '%s\n' '[ca]' 'default_ca = this' '[this]' 'database = index' 'new_certs_dir = .' 'default_md = sha256' 'default_days = 3' \
    'policy = any' 'unique_subject = no' 'rand_serial = yes' '[any]' 'commonName = supplied' > ca.conf
: > index
here=subjectAltName=DNS:localhost
for name in root stranger; do authority "$name"; done
openssl req -x509 -days 3 -subj /CN=self -addext "$here" -keyout self.key -out self.pem "${ec[@]}"
request between 'basicConstraints = critical, CA:TRUE' "${ec[@]}"
issue between root
request ecdsa "$here" "${ec[@]}"
request rsa "$here" -newkey rsa:2048 -nodes
request address 'subjectAltName=DNS:other.example,IP:127.0.0.1' "${ec[@]}"
for name in ecdsa rsa address; do issue "$name" between; done
request old "$here" "${ec[@]}"
issue old between -startdate 20200101000000Z -enddate 20210203000000Z
request early "$here" "${ec[@]}"
issue early between -startdate 20900101000000Z -enddate 20910101000000Z
request other 'subjectAltName=DNS:other.example' "${ec[@]}"
request client 'extendedKeyUsage=clientAuth' "${ec[@]}"
for name in other client; do issue "$name" root; done
request strange 'extendedKeyUsage=clientAuth' "${ec[@]}"
issue strange stranger
openssl pkcs8 -topk8 -in client.key -out client-locked.key -passout pass:sesame
openssl pkcs12 -export -in client.pem -inkey client.key -out client.p12 -passout pass:sesame
# The format of Keychain and older Windows.
openssl pkcs12 -export -legacy -certpbe PBE-SHA1-RC2-40 -keypbe PBE-SHA1-3DES -macalg sha1 -in client.pem -inkey client.key \
    -out client-old.p12 -passout pass:sesame
